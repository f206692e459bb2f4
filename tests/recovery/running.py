"""Runs a command as an operator does, and keeps what it printed."""

from dataclasses import dataclass
from io import StringIO

from django.core.management import CommandError, call_command

from refunds.models import RefundOperation
from refunds.nudges import advance


@dataclass(frozen=True)
class Ran:
    """What a command printed, and the code that it would have ended with."""

    code: int
    out: str
    err: str


def run(name, *arguments, **options):
    out, err = StringIO(), StringIO()
    try:
        call_command(name, *arguments, **options, stdout=out, stderr=err)
    except CommandError as error:
        return Ran(error.returncode, out.getvalue(), err.getvalue() + str(error))
    return Ran(0, out.getvalue(), err.getvalue())


def committed(desk, customer=None):
    """Return an operation that is committed and not yet sent."""
    made = desk.duplicate(customer or desk.customer())
    workflow_id = desk.ask(made.order, run=False)
    desk.run_one(advance(workflow_id))
    return desk.operation(workflow_id)


def states():
    return sorted(RefundOperation.objects.values_list("state", flat=True))
