"""``POST /webhooks/stripe``: verify, store, answer. What an event means is found out later, from the object itself.

Stage 11 applies it. A delivery that is refused leaves a log line and a count, and no row: anybody can send those.
"""

from typing import Final

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from ledger.clock import now_utc
from refunds.api.problems import Problem
from refunds.evidence.webhooks import keep_event
from refunds.gateways.stripe_events import SignatureProblem, check_signature, read_event
from refunds.nudges import apply_webhook
from refunds.tasks import send_nudges

PROVIDER: Final = "stripe"
logger = structlog.get_logger("webhooks")
_NOT_CONFIGURED: Final = Problem(
    503, "webhooks_not_configured", "This desk takes no events from this provider."
)
_NOT_TRUSTED: Final = Problem(
    400, "signature_refused", "The signature does not fit the body, or its time is off."
)
_NOT_AN_EVENT: Final = Problem(400, "not_an_event", "The body is not an event.")


@csrf_exempt
@require_POST
def stripe(request: HttpRequest) -> HttpResponse:
    """Store one event of Stripe; 200 for a new one and for a repeat alike."""
    now, body = now_utc(), request.body
    problem = check_signature(
        body,
        request.headers.get("Stripe-Signature", ""),
        secrets=settings.STRIPE_WEBHOOK_SECRETS,
        now=now,
    )
    if problem is not None:
        logger.warning("webhook.refused", problem=str(problem), size=len(body))
        return (_NOT_CONFIGURED if problem is SignatureProblem.NO_SECRET else _NOT_TRUSTED).response()
    event, text = read_event(body), _text(body)
    if event is None or text is None:
        logger.warning("webhook.not_an_event", size=len(body))
        return _NOT_AN_EVENT.response()
    webhook_id, created = keep_event(event, provider=PROVIDER, body=text, now=now)
    if created:
        send_nudges([apply_webhook(webhook_id)])
    return JsonResponse({"received": True})


def _text(body: bytes) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text
