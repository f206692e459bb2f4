"""WSGI entry point, for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

from config.charset_guard import CharsetGuard

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = CharsetGuard(get_wsgi_application())
