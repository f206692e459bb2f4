"""A house text with the trigger that reads approvals as well, which policies know nothing of."""

import pgtrigger

from approvals.states import ApprovalState, SubjectKind
from policies.models import KnowledgeDocument
from policies.states import DocumentState


class ApprovedDocument(KnowledgeDocument):
    """PostgreSQL lets no text become active but by an approval for exactly it that another person gave."""

    class Meta:
        proxy = True
        triggers = [
            pgtrigger.Trigger(
                name="approved_by_another",
                when=pgtrigger.After,
                timing=pgtrigger.Deferred,  # the approval is used in the same transaction
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    f"NEW.state = '{DocumentState.ACTIVE}' AND OLD.state <> NEW.state"
                ),
                func=f"""
                    IF NOT EXISTS (
                        SELECT 1 FROM approval_requests a JOIN approval_events e ON e.approval_id = a.id
                        WHERE a.subject_kind = '{SubjectKind.POLICY}' AND a.subject_id = NEW.id
                          AND a.merchant_id = NEW.merchant_id AND a.state = '{ApprovalState.CONSUMED}'
                          AND a.rule = '' AND a.maker_id = NEW.uploaded_by
                          AND a.command->>'content_sha256' = NEW.content_sha256
                          AND e.voter_id NOT IN ('', NEW.uploaded_by)
                    ) THEN
                        RAISE EXCEPTION 'text % was not approved by another person than its uploader', NEW.id
                            USING ERRCODE = 'integrity_constraint_violation';
                    END IF;
                    RETURN NULL;
                """,  # noqa: S608 - our own constants
            ),
        ]
