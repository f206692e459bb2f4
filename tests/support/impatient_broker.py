"""The deployed Celery app, but with a broker that gives a message to somebody else after seconds instead of minutes."""

from typing import Final

from config.celery import app

VISIBLE_SECONDS: Final = 3

app.conf.broker_transport_options = {
    **app.conf.broker_transport_options,
    "visibility_timeout": VISIBLE_SECONDS,
    "unacked_restore_interval": 1,
}
