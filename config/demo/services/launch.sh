# Run by /bin/sh as the server's account: make the data folder if there is none, then become the server.
# Arguments: the programs' folder, the data folder, "durable" or "fast", then the server's settings.
# Environment: PASSWORD, DATABASE; STALE_PID_FILE is set when the recorded process is somebody else's.
set -eu
programs=$1 data=$2 durability=$3
shift 3

if [ ! -e "$data" ]; then
    rm -rf "$data.new"
    [ "$durability" = durable ] && speed= || speed="--no-sync --no-data-checksums"
    # shellcheck disable=SC2086
    "$programs/bin/initdb" -D "$data.new" -U postgres -E UTF8 --locale=C --locale-provider=builtin \
        --builtin-locale=C.UTF-8 --auth=scram-sha-256 --pwfile=/dev/stdin --no-instructions $speed \
        -c scram_iterations=1 <<PASSWORD
$PASSWORD
PASSWORD
    echo "host all all 127.0.0.1/32 scram-sha-256" > "$data.new/pg_hba.conf"
    echo "CREATE DATABASE $DATABASE;" | "$programs/bin/postgres" --single -D "$data.new" postgres > /dev/null
    mv "$data.new" "$data"
elif [ -n "${STALE_PID_FILE:-}" ]; then
    rm -f "$data/postmaster.pid"
fi
unset PASSWORD DATABASE
exec "$programs/bin/postgres" -D "$data" "$@"
