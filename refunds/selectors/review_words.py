"""What a case shows outside its evidence: what the customer wrote, what models read in it, what was proposed."""

from refunds.models import CustomerMessage, MessageReading, Proposal, RefundWorkflow
from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.guardrails import find_unsafe_language
from refunds.proposers.schema import ParsedProposal, parse_proposal
from refunds.selectors.house_texts import given_texts
from refunds.selectors.review_said import CustomerWords, Draft, ProposalFacts, ReadingFacts


def list_words(workflow: RefundWorkflow) -> tuple[CustomerWords, ...]:
    """Return what the customer wrote, oldest first, each with its reading, in one query."""
    found = CustomerMessage.objects.filter(workflow=workflow).select_related("text", "reading")
    return tuple(
        CustomerWords(
            text=message.text.body,
            erased=message.text.erased_at is not None,
            at=message.at,
            reading=_reading(getattr(message, "reading", None)),
        )
        for message in found.order_by("at", "pk")
    )


def get_proposal(workflow: RefundWorkflow) -> ProposalFacts | None:
    """Return the newest proposal, with exactly what was asked as digests; None before there is one."""
    of_workflow = Proposal.objects.filter(workflow=workflow).select_related("draft")
    found = of_workflow.order_by("-command_number").first()
    if found is None:
        return None
    return ProposalFacts(
        proposer=found.proposer,
        model_snapshot=found.model_snapshot,
        prompt_version=found.prompt_version,
        recommended_action=found.recommended_action,
        reason_code=found.reason_code,
        requires_human_review=found.requires_human_review,
        output_class=found.output_class,
        asked=_asked(found),
        documents=given_texts(found.documents),
        draft=_draft(found.draft.body if found.draft else ""),
        at=found.at,
    )


def _reading(found: MessageReading | None) -> ReadingFacts | None:
    if found is None:
        return None
    return ReadingFacts(
        reader=found.reader,
        model_snapshot=found.model_snapshot,
        prompt_version=found.prompt_version,
        output_class=found.output_class,
        detail=found.detail,
        intent=found.intent,
        problem=found.problem,
        language=found.language,
        order_hint=found.order_hint,
        asked=_asked(found),
    )


def _asked(row: Proposal | MessageReading) -> tuple[tuple[str, str], ...]:
    digests = (
        ("prompt", row.prompt_sha256),
        ("context", row.context_sha256),
        ("request", row.request_sha256),
        ("output", row.output_sha256),
    )
    parameters = ((name, str(value)) for name, value in sorted(row.parameters.items()))
    return tuple((name, value) for name, value in (*digests, *parameters) if value)


def _draft(output: str) -> Draft:
    """Return a draft that passes the guardrails word for word; any other output masked and cut."""
    parsed = parse_proposal(output)
    if isinstance(parsed, ParsedProposal) and not find_unsafe_language(parsed.customer_message):
        return Draft(text=parsed.customer_message, masked=False)
    return Draft(text=prepare_customer_text(output) or "", masked=True)
