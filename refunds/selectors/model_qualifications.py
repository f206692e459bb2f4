"""What is known of models: the newest evaluation of a configuration, and the endpoints that were ever evaluated."""

import time
from collections.abc import Collection
from datetime import datetime
from typing import Final

from refunds.models import ModelQualification
from refunds.proposers.asking import Line
from refunds.proposers.qualification import Qualification
from refunds.proposers.router import Admission, RoutedModel

_MOST_ENDPOINTS: Final = 20
_NEWEST: Final = 500  # rows that are looked through for them
# Every request asks, and evaluations are days apart. Only what passed is remembered: a new model is asked at once.
REMEMBERED_SECONDS: Final = 5.0
_passed: dict[frozenset[str], tuple[float, tuple[Qualification, ...]]] = {}


def get_admission(line: Line, *, now: datetime, asked_for: str) -> Admission:
    """Return what decides who of the line may be asked now: no query where no model is in it.

    An evaluation that a model failed meanwhile counts within five seconds; one that expires counts at once.
    """
    routed = frozenset(model.configuration.sha256 for _, model in line if isinstance(model, RoutedModel))
    return Admission(now=now, qualifications=_remembered(routed), asked_for=asked_for)


def forget_qualifications() -> None:
    """Ask for them anew next time."""
    _passed.clear()


def _remembered(configurations: frozenset[str]) -> tuple[Qualification, ...]:
    if not configurations:
        return ()
    read_at = time.monotonic()
    since, known = _passed.get(configurations, (float("-inf"), ()))
    if read_at - since < REMEMBERED_SECONDS:
        return known
    known = newest_qualifications(configurations=configurations)
    if len(known) == len(configurations) and all(each.passed for each in known):
        _passed[configurations] = (read_at, known)
    else:
        _passed.pop(configurations, None)
    return known


def newest_qualifications(*, configurations: Collection[str]) -> tuple[Qualification, ...]:
    """Return the newest evaluation of each configuration, given by its digest; one that failed counts as well."""
    rows = (
        ModelQualification.objects.filter(configuration_sha256__in=configurations)
        .order_by("configuration_sha256", "-id")
        .distinct("configuration_sha256")
    )
    return tuple(
        Qualification(
            model=row.model,
            configuration_sha256=row.configuration_sha256,
            endpoint_sha256=row.endpoint_sha256,
            snapshot=row.snapshot,
            response_form=row.response_form,
            passed=row.passed,
            expires_at=row.expires_at,
        )
        for row in rows
    )


def evaluated_endpoints() -> tuple[tuple[str, str], ...]:
    """Return ``(model, endpoint's digest)`` of the endpoints that were evaluated last, each model once."""
    newest = ModelQualification.objects.order_by("-id").values_list("model", "endpoint_sha256")[:_NEWEST]
    found: dict[str, str] = {}
    for model, endpoint in newest:
        found.setdefault(model, endpoint)
    return tuple(found.items())[:_MOST_ENDPOINTS]
