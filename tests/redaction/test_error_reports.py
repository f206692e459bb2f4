"""Django's own error reports, as they would be e-mailed to administrators."""

import logging
import sys

import pytest
from django.conf import settings as deployed
from django.core import mail
from django.test import RequestFactory
from django.utils.log import AdminEmailHandler
from django.views.debug import get_exception_reporter_class

from config.error_reports import ClosedExceptionReporter
from tests.redaction.rows import MUST, leaks


def charge(words):
    """Fail with the words in the frame and in the error."""
    local = {"said": words}
    raise ValueError(f"cannot use {local['said']}")


@pytest.fixture
def requests():
    made = RequestFactory()
    return lambda words: made.post(
        "/support/",
        {"message": words},
        headers={"cookie": "sessionid=kettle", "x-said": words.encode().hex()},
    )


@pytest.mark.failure("F131")
def test_a_report_holds_no_value_of_any_frame_or_form(settings, requests):
    settings.ADMINS = [("Operator", "operator@example.com")]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert get_exception_reporter_class(requests("x")) is ClosedExceptionReporter
    handler = AdminEmailHandler(include_html=True)
    for row in MUST[::10]:
        request = requests(row.text)
        record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, "Fault", (), None)
        record.request = request
        try:
            charge(row.text)
        except ValueError:
            record.exc_info = sys.exc_info()
        mail.outbox.clear()
        handler.emit(record)
        (sent,) = mail.outbox
        texts = [sent.subject, sent.body, *(content for content, _ in sent.alternatives)]
        assert leaks([row], *texts) == []
        assert all(secret not in text for text in texts for secret in ("kettle", deployed.SECRET_KEY))
        assert "in charge" in sent.body
        assert "POST /support/" in sent.body
        assert "characters, sha256" in sent.body


def test_the_log_formats_no_value_either(log):
    logger = logging.getLogger("anything")
    for row in MUST:
        try:
            charge(row.text)
        except ValueError:
            logger.exception("said %s", row.text)
        logger.warning("said %s", row.text)
        logger.info("said", extra={"said": {"words": [row.text]}})
    assert leaks(MUST, log.text) == []
    assert len(log.lines) == 3 * len(MUST)
    assert log.text.count("in charge") == len(MUST)
