"""Django's settings: deployment facts only, read through ``config.environment``."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from csp.constants import NONE, SELF
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.environment import read_environment
from config.logs import logging_config

env = read_environment()

BASE_DIR = Path(__file__).resolve().parent.parent
SYSTEM_VERSION = "refund-desk 0.1.0"
DEMO_MODE = env.DEMO_MODE
DEMO_BREAK = env.DEMO_BREAK
DEMO_GATEWAY_URL = env.DEMO_GATEWAY_URL
DEMO_ADMITS_ANY_MODEL = env.DEMO_ADMITS_ANY_MODEL
DEBUG = False
SECRET_KEY = env.SECRET_KEY
ALLOWED_HOSTS = list(env.ALLOWED_HOSTS)
PUBLIC_URL = env.PUBLIC_URL
CSRF_TRUSTED_ORIGINS = [env.PUBLIC_URL]

INSTALLED_APPS = [
    "config.apps.DeploymentConfig",
    *(["config.demo"] if DEMO_MODE else []),
    "refunds",
    "approvals",
    "notifications",
    "policies",
    "ledger",
    "pgtrigger",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "django_structlog",
    "django_htmx",
    "csp",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "config.health.ProbeMiddleware",  # before any check of host or scheme
    "refunds.middleware.NoStoreMiddleware",  # around everything that may refuse
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "refunds.middleware.TraceMiddleware",
    "refunds.middleware.IntakeGuardMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.request_log.RequestLogMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

CSRF_FAILURE_VIEW = "refunds.customer.errors.csrf_failure"
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _database(url: str) -> dict[str, Any]:
    """Return Django's form of a PostgreSQL URL; query parameters become connection options."""
    parts = urlsplit(url)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", parts.hostname or "")
    return {
        "ENGINE": "config.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,  # the pool keeps connections
        "CONN_HEALTH_CHECKS": True,  # the pool hands out no connection that a restart of the server broke
        "ATOMIC_REQUESTS": False,  # stages say what shares a transaction
        # reconnect_timeout ends the pool's backing off, so that it notices within seconds that the server is back.
        "OPTIONS": options | {"pool": {"min_size": 0, "max_size": 20, "timeout": 3, "reconnect_timeout": 2}},
    }


DATABASES = {"default": _database(env.DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/support/"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "refunds.customer.accounts.ClosedAccountAdapter"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Refund desk: "
ALLAUTH_TRUSTED_PROXY_COUNT = env.TRUSTED_PROXY_COUNT
NEW_REQUESTS_PER_MINUTE = env.NEW_REQUESTS_PER_MINUTE

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic step is needed to serve the pages

# Nothing that a customer or a model wrote may ever run in a page.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
_HTTPS = env.PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = _HTTPS
CSRF_COOKIE_SECURE = _HTTPS
SECURE_SSL_REDIRECT = _HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HTTPS
SECURE_HSTS_PRELOAD = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024  # a request for a refund is text; 256 KiB is generous
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100

CACHES = {
    "default": {
        "BACKEND": "config.cache.FailOpenRedisCache",
        "LOCATION": env.REDIS_URL,
        # A second try would only double the wait: what the cache cannot answer, it has forgotten.
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1, "retry": Retry(NoBackoff(), 0)},
    },
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "refunds.api.tokens.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["refunds.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "refunds.api.problems.problem_response",
}
REST_KNOX = {"TOKEN_TTL": timedelta(days=env.API_TOKEN_DAYS), "AUTO_REFRESH": False}
SPECTACULAR_SETTINGS = {
    "TITLE": "Refund desk",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},  # no validator of another host
}

EMAIL_URL = env.EMAIL_URL
EMAIL_BACKEND = "notifications.channels.email.configured_backend"
DEFAULT_FROM_EMAIL = "Refund desk <refunds@example.com>"
AUDIT_SINK = env.AUDIT_SINK
METRICS_TOKEN = env.METRICS_TOKEN
OPENAI_BASE_URL = env.OPENAI_BASE_URL
OPENAI_API_KEY = env.OPENAI_API_KEY
ASSISTANT_MODELS = env.ASSISTANT_MODELS
ASSISTANT_DEADLINE_SECONDS = env.ASSISTANT_DEADLINE_SECONDS
ASSISTANT_PARAMETERS = env.ASSISTANT_PARAMETERS
MODEL_QUALIFICATION_DAYS = env.MODEL_QUALIFICATION_DAYS
STRIPE_API_KEY = env.STRIPE_API_KEY
STRIPE_API_BASE = env.STRIPE_API_BASE
STRIPE_WEBHOOK_SECRETS = env.STRIPE_WEBHOOK_SECRETS
GATEWAY_CONTRACT_OVERRIDES = env.GATEWAY_CONTRACT_OVERRIDES
GATEWAY_TIMEOUT_SECONDS = env.GATEWAY_TIMEOUT_SECONDS
LEDGER_SOURCE_URL = env.LEDGER_SOURCE_URL
LEDGER_SOURCE_TOKEN = env.LEDGER_SOURCE_TOKEN
LEDGER_SOURCE_TIMEOUT_SECONDS = env.LEDGER_SOURCE_TIMEOUT_SECONDS
RECOVERY_INTERVAL_SECONDS = env.RECOVERY_INTERVAL_SECONDS

CELERY_BROKER_URL = env.REDIS_URL

DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_CELERY_ENABLED = True
LOGGING = logging_config(env.LOG_FORMAT)
DEFAULT_EXCEPTION_REPORTER = "config.error_reports.ClosedExceptionReporter"
PERSONAL_DATA_DETECTOR = env.PERSONAL_DATA_DETECTOR
