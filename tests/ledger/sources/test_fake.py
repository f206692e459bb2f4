import pytest

from ledger.sources.fake import FakeLedgerSource
from ledger.sources.local_tables import LocalTables
from ledger.sources.port import SourceFailureKind, SourceUnavailable
from tests.factories import make_duplicate_order
from tests.ledger.sources.reading import read

pytestmark = pytest.mark.django_db


def test_it_fails_as_often_as_told_and_then_answers():
    order = make_duplicate_order().order
    down = SourceUnavailable(kind=SourceFailureKind.TIMEOUT, detail="no answer", attempts=3)
    held = read(LocalTables(), order)
    source = FakeLedgerSource(failures=[down, down])
    source.tell(held.order, taken_at=held.taken_at)
    assert [read(source, order) for _ in range(2)] == [down, down]
    assert read(source, order).order == held.order
    assert source.reads == [order.pk] * 3
