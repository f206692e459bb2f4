"""Where the money of a payment is, in PostgreSQL's words: the same sums as ``refunds.evidence.remaining``, as SQL.

captured = refunded + pending + reserved + disputed + remaining. The guard on what we decide, the freezing of a
payment by facts, and the scheduled check all read these texts; a property test holds them against the Python.
"""

from typing import Final

from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from refunds.states import ABANDONED_OPERATION_STATES, OperationState

OVERDRAWN: Final = "OVERDRAWN"
_ABANDONED = ", ".join(f"'{state}'" for state in sorted(ABANDONED_OPERATION_STATES))
_BACK = f"'{EntryStatus.SUCCEEDED}', '{EntryStatus.PENDING}'"


def sums_of(payment: str, *, leaving_out: str = "''") -> str:
    """Return a SELECT of one row of sums; both arguments are SQL expressions, of a payment's and an operation's id.

    One statement, hence one snapshot: an operation that completes meanwhile is counted once.
    """
    return f"""
        SELECT captured, returned, disputed, reserved, reversed, held, voided, unnamed,
               captured - returned - disputed - reserved AS remaining,
               returned + disputed + reserved - captured
                   - least(reversed, greatest(held + voided - captured, 0))
                   - CASE captured WHEN 0 THEN least(returned - reversed, greatest(held - reversed, 0)) ELSE 0 END
                   - least(unnamed, reserved)
                   AS overdrawn
        FROM (
            SELECT coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.CAPTURE}'
                       AND e.status = '{EntryStatus.SUCCEEDED}'), 0) AS captured,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.CAPTURE}'
                       AND e.status <> '{EntryStatus.SUCCEEDED}'), 0) AS voided,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.AUTHORISATION}'
                       AND e.status <> '{EntryStatus.FAILED}'), 0) AS held,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.REVERSAL}'
                       AND e.status IN ({_BACK})), 0) AS reversed,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.REFUND}'
                       AND e.status IN ({_BACK})
                       AND strpos(e.processor_reference, '{UNNAMED_REFUND}') > 0), 0) AS unnamed,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind IN ('{EntryKind.REFUND}',
                       '{EntryKind.REVERSAL}') AND e.status IN ({_BACK})), 0) AS returned,
                   coalesce(sum(e.amount_minor_units) FILTER (WHERE e.kind = '{EntryKind.DISPUTE}'
                       AND e.status IN ('{EntryStatus.OPEN}', '{EntryStatus.LOST}')), 0) AS disputed
            FROM ledger_entries e WHERE e.payment_id = {payment}) entries,
        LATERAL (
            SELECT coalesce(sum(o.amount_minor_units), 0) AS reserved FROM refund_operations o
            WHERE o.payment_id = {payment} AND o.id <> {leaving_out} AND o.state NOT IN ({_ABANDONED})
              AND NOT EXISTS (
                  SELECT 1 FROM ledger_entries e
                  WHERE e.merchant_id = o.merchant_id AND e.account = o.account
                    AND e.processor_reference = o.processor_reference AND e.payment_id = o.payment_id
                    AND e.amount_minor_units = o.amount_minor_units
                    AND (o.state = '{OperationState.COMPLETED}'
                         OR e.status NOT IN ('{EntryStatus.FAILED}', '{EntryStatus.CANCELED}'))
              )) operations"""  # noqa: S608 - our own constants


def guard() -> str:
    """Return the body of the trigger that refuses to decide on more money than is left.

    It asks only about decisions: an operation that is created, or whose submission begins. The payment is locked
    first, and the sums are read by a statement of their own after that, so that under READ COMMITTED they include
    whatever the transaction that held the lock has committed. REPEATABLE READ would not see it, and is refused.
    """
    return f"""
        IF TG_OP = 'UPDATE' AND (NEW.state <> '{OperationState.SUBMITTED}' OR OLD.state = NEW.state) THEN
            RETURN NEW;
        END IF;
        IF current_setting('transaction_isolation') = 'repeatable read' THEN
            RAISE EXCEPTION 'operation % must be decided under READ COMMITTED or SERIALIZABLE', NEW.id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        SELECT p.frozen_at INTO frozen_since FROM ledger_payments p WHERE p.id = NEW.payment_id FOR NO KEY UPDATE;
        IF frozen_since IS NOT NULL THEN
            RAISE EXCEPTION 'payment % is frozen since %, and operation % waits',
                NEW.payment_id, frozen_since, NEW.id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        SELECT sums.remaining INTO rest FROM ({sums_of("NEW.payment_id", leaving_out="NEW.id")}) sums;
        IF rest < NEW.amount_minor_units THEN
            RAISE EXCEPTION 'payment % has % left, and operation % is for %',
                NEW.payment_id, rest, NEW.id, NEW.amount_minor_units
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    """  # noqa: S608 - our own constants


def freeze() -> str:
    """Return the body of the triggers that freeze a payment in the transaction of the facts that overdraw it.

    Nothing is refused: whoever brings the fact (an answer, an event, a file, a source) is not asked.
    """
    return f"""
        UPDATE ledger_payments SET frozen_at = now(), frozen_reason = '{OVERDRAWN}'
        WHERE id = NEW.payment_id AND frozen_at IS NULL
          AND (SELECT sums.overdrawn FROM ({sums_of("NEW.payment_id")}) sums) > 0;
        RETURN NULL;
    """  # noqa: S608 - our own constants
