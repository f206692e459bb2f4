"""What PostgreSQL itself refuses about rows with a state, generated from the same table that django-fsm reads.

A state row: begins in its initial state; jumps only along the table; raises ``state_sequence`` by exactly one
per jump; is never deleted; and cannot be committed without the event that explains the jump. An event row:
continues from the event before it, and cannot be committed ahead of its state row.
"""

import pgtrigger

from ledger.state_table import StateTable


def state_triggers(
    table: StateTable, *, event_table: str, subject_column: str, state_column: str = "state"
) -> list[pgtrigger.Trigger]:
    """Return the triggers of a state row's model; the events are in ``event_table``."""
    return [
        _begins(table, state_column),
        _jumps(table, state_column),
        pgtrigger.Trigger(
            name="first_event",
            when=pgtrigger.After,
            operation=pgtrigger.Insert,
            timing=pgtrigger.Deferred,
            func=_explained(event_table, subject_column, state_column, "''"),
        ),
        pgtrigger.Trigger(
            name="every_event",
            when=pgtrigger.After,
            operation=pgtrigger.Update,
            timing=pgtrigger.Deferred,
            condition=pgtrigger.Condition(f"OLD.{state_column} IS DISTINCT FROM NEW.{state_column}"),
            func=_explained(event_table, subject_column, state_column, f"OLD.{state_column}"),
        ),
        pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
    ]


def _begins(table: StateTable, state_column: str) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name="state_begins",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert,
        func=f"""
            IF NEW.{state_column} <> '{table.initial}' OR NEW.state_sequence <> 1 THEN
                RAISE EXCEPTION '% must begin as {table.initial}', TG_TABLE_NAME
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        """,
    )


def _jumps(table: StateTable, state_column: str) -> pgtrigger.Trigger:
    jumps = ", ".join(f"('{source}', '{target}')" for source, target in table.pairs)
    return pgtrigger.Trigger(
        name="state_jumps",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        func=f"""
            IF NEW.{state_column} = OLD.{state_column} THEN
                IF NEW.state_sequence <> OLD.state_sequence THEN
                    RAISE EXCEPTION '% % raised its sequence without a transition', TG_TABLE_NAME, OLD.id
                        USING ERRCODE = 'integrity_constraint_violation';
                END IF;
            ELSIF NEW.state_sequence <> OLD.state_sequence + 1
               OR (OLD.{state_column}, NEW.{state_column}) NOT IN ({jumps}) THEN
                RAISE EXCEPTION '% % may not go from % to %',
                    TG_TABLE_NAME, OLD.id, OLD.{state_column}, NEW.{state_column}
                    USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        """,
    )


def _explained(event_table: str, subject_column: str, state_column: str, from_state: str) -> str:
    return f"""
        IF NOT EXISTS (
            SELECT 1 FROM {event_table} e
            WHERE e.{subject_column} = NEW.id AND e.state_sequence = NEW.state_sequence
              AND e.from_state = {from_state} AND e.to_state = NEW.{state_column}
        ) THEN
            RAISE EXCEPTION '% % has no event for its state %', TG_TABLE_NAME, NEW.id, NEW.{state_column}
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    """


def event_triggers(*, state_table: str, subject_column: str, event_table: str) -> list[pgtrigger.Trigger]:
    """Return the triggers of an event row's model; the states are in ``state_table``."""
    return [
        pgtrigger.Trigger(
            name="event_continues",
            when=pgtrigger.Before,
            operation=pgtrigger.Insert,
            condition=pgtrigger.Condition("NEW.kind = 'TRANSITION'"),
            func=f"""
                IF NEW.state_sequence = 1 THEN
                    IF NEW.from_state = '' THEN RETURN NEW; END IF;
                ELSIF EXISTS (
                    SELECT 1 FROM {event_table} e
                    WHERE e.{subject_column} = NEW.{subject_column}
                      AND e.state_sequence = NEW.state_sequence - 1 AND e.to_state = NEW.from_state
                ) THEN
                    RETURN NEW;
                END IF;
                RAISE EXCEPTION '% of % does not continue the event before it',
                    TG_TABLE_NAME, NEW.{subject_column} USING ERRCODE = 'integrity_constraint_violation';
            """,
        ),
        pgtrigger.Trigger(
            name="event_happened",
            when=pgtrigger.After,
            operation=pgtrigger.Insert,
            timing=pgtrigger.Deferred,
            condition=pgtrigger.Condition("NEW.kind = 'TRANSITION'"),
            func=f"""
                IF NOT EXISTS (
                    SELECT 1 FROM {state_table} s
                    WHERE s.id = NEW.{subject_column} AND s.state_sequence >= NEW.state_sequence
                ) THEN
                    RAISE EXCEPTION '% of % tells of a transition that did not happen',
                        TG_TABLE_NAME, NEW.{subject_column} USING ERRCODE = 'integrity_constraint_violation';
                END IF;
                RETURN NULL;
            """,
        ),
    ]
