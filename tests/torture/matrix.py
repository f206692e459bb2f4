"""Every pair of states on rows in each state: legal jumps are taken by the writer, all others refused by it and by SQL."""

from django.db import transaction

from tests.database.test_transition_matrix import KINDS, refuse_by_database, refuse_by_writer, take


def every_pair() -> tuple[int, int]:
    """Return how many legal jumps were taken and how many others were refused; raises AssertionError for any else."""
    taken = refused = 0
    for table, model, events, subject, make in KINDS.values():
        for source in table.states:
            with transaction.atomic():
                row = make(source)
                for target in table.states:
                    if table.allows(source, target):
                        take(model, events, subject, row, target)
                        taken += 1
                    elif target != source:
                        refuse_by_writer(model, events, subject, row, target)
                        refuse_by_database(model, row, target)
                        refused += 1
                transaction.set_rollback(True)
    return taken, refused


def legal_pairs() -> set[tuple[str, str, str]]:
    """Return every legal jump of the tables, by the kind of row."""
    return {
        (kind, source, target)
        for kind, (table, *_) in KINDS.items()
        for source in table.states
        for target in table.states
        if table.allows(source, target)
    }
