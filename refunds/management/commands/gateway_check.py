"""``manage.py gateway_check [--base-url URL] [--charge ID] [--live-mode-reads-only] [--json]``."""

import json
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.probes.asking import Asker, is_test_key
from refunds.gateways.probes.key_writes import KEY_WRITES
from refunds.gateways.probes.reads import REACHED, READS
from refunds.gateways.probes.records import Finding, Outcome, Probe, Situation
from refunds.gateways.probes.refund_writes import REFUND_WRITES
from refunds.gateways.probes.unasked import UNASKED
from refunds.gateways.stripe_commands import payment_parameter

USAGE: Final = 2
UNREACHABLE: Final = 3
_PROBES: Final = (
    *REFUND_WRITES,
    *KEY_WRITES,
    *READS,
    *UNASKED,
)  # reads last: there is something to read then
_REFUNDS: Final = sum(probe.refunds for probe in _PROBES)


class Command(BaseCommand):
    help = (
        "Ask a payment provider which facts of the contract hold there. Nothing is written to the database. With a "
        "test key, requests that must be refused are made as well, and with --charge also "
        f"{_REFUNDS} refunds of the smallest amount of that test charge. A live key is refused unless only reads are "
        "wanted. The key is STRIPE_API_KEY. Exit codes: 0 whatever could be asked holds, 1 a fact does not hold, "
        f"{USAGE} the call is wrong, {UNREACHABLE} the provider cannot be reached or does not take the key."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--base-url", metavar="URL", help="default: STRIPE_API_BASE")
        parser.add_argument("--charge", metavar="ID", help="a charge of this account, ch_… or py_…")
        parser.add_argument(
            "--live-mode-reads-only", action="store_true", help="make GET requests alone; allows a live key"
        )
        parser.add_argument(
            "--json", action="store_true", help="the findings as JSON; progress goes to stderr"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        charge = options["charge"]
        if charge is not None and payment_parameter(charge) != "charge":
            raise CommandError(f"--charge takes the id of a charge, not {charge!r}", returncode=USAGE)
        asker = self._asker(options)
        self._say(f"asking {asker.base_url}, API version {STRIPE_V1.api_version}")
        reached = self._run(asker, REACHED, asker.situation(None)[0], options)
        if reached.outcome is not Outcome.HOLDS:
            raise CommandError(f"{asker.base_url}: {REACHED.fact}: {reached.seen}", returncode=UNREACHABLE)
        situation, trouble = asker.situation(charge)
        if trouble:
            raise CommandError(trouble, returncode=USAGE)
        findings = [(REACHED, reached)]
        findings += [(probe, self._run(asker, probe, situation, options)) for probe in _PROBES]
        self._report(asker, findings, options)

    def _asker(self, options: dict[str, Any]) -> Asker:
        key, reads_only = settings.STRIPE_API_KEY, options["live_mode_reads_only"]
        if not key:
            raise CommandError("set STRIPE_API_KEY to the key to ask with", returncode=USAGE)
        if not is_test_key(key) and not reads_only:
            raise CommandError(
                "STRIPE_API_KEY is not a test key. With --live-mode-reads-only it is used, for reads alone.",
                returncode=USAGE,
            )
        try:
            return Asker(
                base_url=_bare(options["base_url"] or settings.STRIPE_API_BASE),
                api_key=key,
                connect_timeout_seconds=min(5.0, settings.GATEWAY_TIMEOUT_SECONDS),
                answer_timeout_seconds=settings.GATEWAY_TIMEOUT_SECONDS,
                reads_only=reads_only,
            )
        except ValueError as error:
            raise CommandError(str(error), returncode=USAGE) from error

    def _run(self, asker: Asker, probe: Probe, situation: Situation, options: dict[str, Any]) -> Finding:
        finding = asker.run(probe, situation)
        line = f"{finding.outcome:<5}  {probe.name}: {probe.fact} [{finding.seen}]"
        if options["json"]:
            self._say(line)
        else:
            self.stdout.write(line)
        return finding

    def _report(self, asker: Asker, findings: list[tuple[Probe, Finding]], options: dict[str, Any]) -> None:
        counts = {outcome: sum(finding.outcome is outcome for _, finding in findings) for outcome in Outcome}
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(asker, findings, counts), indent=2))
        else:
            told = ", ".join(f"{count} {outcome.lower()}" for outcome, count in counts.items())
            self.stdout.write(f"{len(findings)} facts: {told}")
        if counts[Outcome.FAILS]:
            failed = [probe.name for probe, finding in findings if finding.outcome is Outcome.FAILS]
            raise CommandError(f"the contract does not hold there: {', '.join(failed)}", returncode=1)

    def _say(self, text: str) -> None:
        self.stderr.write(text, style_func=str)


def _bare(address: str) -> str:
    """Return an address that may be printed and that paths can follow; raises ValueError for any other."""
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address holds credentials: the key is STRIPE_API_KEY")
    if parts.query or parts.fragment or not (address.isascii() and address.isprintable()):
        raise ValueError("the address must end with its host, port or path, in plain characters")
    _ = parts.port  # raises ValueError for a port that there cannot be
    return address


def _as_json(
    asker: Asker, findings: list[tuple[Probe, Finding]], counts: dict[Outcome, int]
) -> dict[str, Any]:
    return {
        "base_url": asker.base_url,
        "api_version": STRIPE_V1.api_version,
        "reads_only": asker.reads_only,
        "counts": {outcome.value: count for outcome, count in counts.items()},
        "findings": [
            {
                "name": probe.name,
                "fact": probe.fact,
                "source": probe.source,
                "outcome": finding.outcome.value,
                "seen": finding.seen,
            }
            for probe, finding in findings
        ],
    }
