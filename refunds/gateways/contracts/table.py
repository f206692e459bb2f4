"""A contract as people read it: every value with how sure it is and where it stands. Pure."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from refunds.gateways.contracts.amounts import AmountRule
from refunds.gateways.contracts.record import ProviderContract

HEADER = ("Field", "Value", "Sure", "Source", "Note")
_UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0))


def contract_rows(contract: ProviderContract) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (field, value, confidence, source, note) for every value of the record."""
    for path, stated in contract.statements():
        value = _duration(stated.value) if path.endswith("seconds") else shown(stated.value)
        yield path, value, stated.confidence.value, stated.source, stated.note


def markdown_table(contract: ProviderContract) -> str:
    """Return the record as a table; docs/provider-contract.md holds it, and a test compares the two."""
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    for path, *cells in contract_rows(contract):
        escaped = (cell.replace("|", r"\|") for cell in cells)
        lines.append(f"| {' | '.join((f'`{path}`', *escaped))} |")
    return "\n".join(lines)


def shown(value: object) -> str:
    """Return a value in words."""
    if value is None or isinstance(value, bool):
        return {None: "not stated", True: "yes", False: "no"}[value]
    if isinstance(value, timedelta):
        return _duration(value.total_seconds())
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(part)}" for name, part in value.items()) or "none"
    if isinstance(value, frozenset | tuple):
        parts = [shown(part) for part in value]
        return ", ".join(sorted(parts) if isinstance(value, frozenset) else parts) or "none"
    return _amount_rule(value) if isinstance(value, AmountRule) else str(value)


def _duration(seconds: object) -> str:
    """Return a number of seconds in its largest whole unit."""
    if not isinstance(seconds, int | float):
        return shown(seconds)
    for name, length in _UNITS:
        if seconds and seconds % length == 0:
            number = int(seconds // length)
            return f"{number} {name}{'' if number == 1 else 's'}"
    return f"{seconds:g} seconds"


def _amount_rule(rule: AmountRule) -> str:
    converts = rule.iso_units != rule.provider_units
    parts = [f"{rule.iso_units} minor units are {rule.provider_units}"] if converts else []
    parts += [f"a multiple of {rule.multiple_of}"] if rule.multiple_of != 1 else []
    return " and ".join(parts) or "minor units"
