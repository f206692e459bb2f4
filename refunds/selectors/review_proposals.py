"""What people proposed about operations, with the provider's evidence that each proposal rests on."""

from collections.abc import Iterable

from django.db.models import Q

from approvals.models import ApprovalRequest, EvidenceAttachment
from approvals.states import SubjectKind
from refunds.selectors.review_lease import names_of
from refunds.selectors.review_records import AttachmentFact, ProposalAboutOperation, Reviewer


def approvals_of(
    workflow_id: str, operation_ids: Iterable[str]
) -> tuple[list[ApprovalRequest], list[ApprovalRequest]]:
    """Return the approvals of a request's commands, newest first, and proposals about operations, oldest first."""
    about_operations = Q(subject_kind=SubjectKind.EVIDENCE, subject_id__in=operation_ids)
    found = list(ApprovalRequest.objects.filter(Q(subject_id=workflow_id) | about_operations))
    commands = [row for row in found if row.subject_id == workflow_id]
    proposals = [row for row in found if row.subject_id != workflow_id]
    commands.sort(key=lambda row: row.command_number, reverse=True)
    proposals.sort(key=lambda row: (row.created_at, row.pk))
    return commands, proposals


def list_proposals(
    approvals: list[ApprovalRequest], reviewer: Reviewer
) -> dict[str, tuple[ProposalAboutOperation, ...]]:
    """Return the proposals by their operation's id, oldest first, each with what is attached to it."""
    rows = list(
        EvidenceAttachment.objects.filter(approval__in=approvals).select_related("text").order_by("number")
    )
    names = names_of(approval.maker_id for approval in approvals)
    me = f"user:{reviewer.user_id}"
    found: dict[str, tuple[ProposalAboutOperation, ...]] = {}
    for approval in approvals:
        fact = ProposalAboutOperation(
            approval_id=approval.pk,
            number=approval.command_number,
            state=str(approval.state),
            fingerprint=approval.request_fingerprint,
            statement=str(approval.command["statement"]),
            made_by=names.get(approval.maker_id, approval.maker_id),
            by_reviewer=approval.maker_id == me,
            made_at=approval.created_at,
            attachments=tuple(_attachment(row) for row in rows if row.approval_id == approval.pk),
        )
        found[approval.subject_id] = (*found.get(approval.subject_id, ()), fact)
    return found


def _attachment(row: EvidenceAttachment) -> AttachmentFact:
    return AttachmentFact(
        kind=row.kind,
        provider_reference=str(row.facts.get("provider_reference", "")),
        seen_at=str(row.facts.get("seen_at", "")),
        words=row.text.body,
        erased=row.text.erased_at is not None,
        sha256=row.sha256,
    )
