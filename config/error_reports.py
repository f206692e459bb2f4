"""Django's own error reports (its e-mails to administrators, its debug page) say no more than the log does.

They would hold the values of every frame, the form that was sent and the settings: what people wrote, and secrets.
"""

from typing import cast

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter
from structlog.typing import ExcInfo

from config.request_log import known_method, route_of
from config.tracebacks import format_exception


class ClosedExceptionReporter(ExceptionReporter):
    """Reports where it happened, of what kind it is, and the route that was asked for."""

    def get_traceback_text(self) -> SafeString:
        """Return the report as text, which nothing escapes any more."""
        return SafeString(self._report())

    def get_traceback_html(self) -> SafeString:
        """Return the report as a page."""
        return format_html("<!doctype html><title>Fault</title><pre>{}</pre>", self._report())

    def _report(self) -> str:
        report = format_exception(cast("ExcInfo", (self.exc_type, self.exc_value, self.tb)))
        if self.request is None:
            return report
        return f"{known_method(self.request)} {route_of(self.request)}\n\n{report}"
