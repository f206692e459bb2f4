# sh make_venv.sh FOLDER: a virtual environment in FOLDER unless one is there that runs.
# 3.12 comes first because every part has a wheel for it; a name on PATH may be a shim that runs nothing.
set -eu
folder=$1
supported='import sys; sys.exit(not (3, 11) <= sys.version_info < (4,))'

if "$folder/bin/python" -c "$supported" 2>/dev/null; then
    exit 0
fi
for name in python3.12 python3.11 python3.13 python3; do
    for python in "$name" "/usr/local/bin/$name" "/usr/bin/$name"; do
        if "$python" -c "$supported" 2>/dev/null; then
            rm -rf "$folder"
            echo "Python: $("$python" -c 'import sys; print(sys.version.split()[0], sys.executable)')"
            if "$python" -m venv "$folder"; then
                exit 0
            fi
            rm -rf "$folder"
            echo "$python can't make a virtual environment: install its venv module (Debian: apt install python3-venv), then run make again" >&2
            exit 1
        fi
    done
done
echo "no Python from 3.11 on was found: install one (Debian: apt install python3 python3-venv), then run make again" >&2
exit 1
