"""``manage.py qualify_model NAME --facts FILE [--attempts 3]``."""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.clock import now_utc
from refunds.models import ModelQualification
from refunds.proposers.evaluation.declared import DeclaredFacts, DeclaredFactsError, read_declared_facts
from refunds.proposers.evaluation.proposal_job import ProposalJob
from refunds.proposers.evaluation.reading_job import ReadingJob
from refunds.proposers.evaluation.rows import NEWEST, EvaluationSet, EvaluationSetError, read_set
from refunds.proposers.evaluation.running import (
    EndpointUnreachableError,
    Evaluation,
    Fault,
    run_evaluation,
)
from refunds.proposers.registry import configuration_of, model_proposer

FAILED: Final = 1
USAGE: Final = 2
_MOST_ATTEMPTS: Final = 20
_MOST_FAULTS: Final = 50  # that are stored and shown


class Command(BaseCommand):
    help = (
        "Evaluate the model NAME at OPENAI_BASE_URL, as ASSISTANT_PARAMETERS says, and store the result. A model is "
        "asked about refunds or messages only while a passed evaluation of its exact configuration is not older than "
        "MODEL_QUALIFICATION_DAYS. Every row has to hold in every attempt. --facts names a JSON file with "
        "declared_by, data_residency, retention_days and trains_on_inputs. Exit codes: 0 passed, 1 failed, "
        f"{USAGE} the call is wrong or the endpoint cannot be asked (then nothing is stored)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--facts", metavar="FILE", type=Path, required=True, help="what is declared of it"
        )
        parser.add_argument(
            "--attempts", metavar="K", type=int, default=3, help="how often each row is asked (3)"
        )
        parser.add_argument(
            "--rows", metavar="FILE", type=Path, default=NEWEST, help="another evaluation set"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        name, attempts = options["name"], options["attempts"]
        if not settings.OPENAI_BASE_URL:
            raise CommandError("set OPENAI_BASE_URL to the address of the model", returncode=USAGE)
        if not 1 <= attempts <= _MOST_ATTEMPTS:
            raise CommandError(f"--attempts is from 1 to {_MOST_ATTEMPTS}", returncode=USAGE)
        try:
            declared, rows = read_declared_facts(options["facts"]), read_set(options["rows"])
            evaluation = self._evaluate(name, rows, attempts)
        except (OSError, DeclaredFactsError, EvaluationSetError) as error:
            raise CommandError(str(error), returncode=USAGE) from error
        except EndpointUnreachableError as error:
            raise CommandError(
                f"{configuration_of(name).host} cannot be asked: {error}", returncode=USAGE
            ) from error
        faults = (
            *evaluation.faults,
            *(Fault(row="declared", attempt=0, code=code) for code in declared.faults),
        )
        stored = _store(name, rows, evaluation, declared, faults)
        self._report(stored, faults)

    def _evaluate(self, name: str, rows: EvaluationSet, attempts: int) -> Evaluation:
        host, model = configuration_of(name).host, model_proposer(name)
        self.stdout.write(
            f"asking {name} at {host}: {len(rows.rows)} rows of {rows.version}, {attempts} times"
        )
        return run_evaluation(
            rows,
            {"proposal": ProposalJob(model), "reading": ReadingJob(model)},
            attempts=attempts,
            deadline_seconds=settings.ASSISTANT_DEADLINE_SECONDS,
            progress=self.stdout.write,
        )

    def _report(self, stored: ModelQualification, faults: tuple[Fault, ...]) -> None:
        self.stdout.write(f"\n{'area':<12}{'rows':>6}{'held':>6}")
        for area, counts in stored.areas.items():
            self.stdout.write(f"{area:<12}{counts['rows']:>6}{counts['held']:>6}")
        self.stdout.write(
            f"{stored.requests} requests; 19 of 20 answers within {stored.latency_p95_ms} ms; "
            f"snapshot {stored.snapshot or 'unknown'}, asked for {stored.response_form or 'nothing'}"
        )
        for fault in faults[:_MOST_FAULTS]:
            when = f" in attempt {fault.attempt}" if fault.attempt else ""
            self.stdout.write(f"  {fault.row}: {fault.code}{when}")
        if not stored.passed:
            raise CommandError(f"{stored.model} does not qualify", returncode=FAILED)
        self.stdout.write(f"{stored.model} qualifies until {stored.expires_at:%F}")


def _store(
    name: str,
    rows: EvaluationSet,
    evaluation: Evaluation,
    declared: DeclaredFacts,
    faults: tuple[Fault, ...],
) -> ModelQualification:
    configuration, now = configuration_of(name), now_utc()
    return ModelQualification.objects.create(
        model=name,
        endpoint_host=configuration.host,
        endpoint_sha256=configuration.endpoint_sha256,
        configuration_sha256=configuration.sha256,
        parameters=configuration.parameters,
        prompt_version=configuration.prompt_version,
        schema_version=configuration.schema_version,
        snapshot=evaluation.snapshot,
        response_form=evaluation.response_form,
        set_version=rows.version,
        set_sha256=rows.sha256,
        attempts=evaluation.attempts,
        areas={str(area): {"rows": count, "held": held} for area, (count, held) in evaluation.areas.items()},
        faults=[[fault.row, fault.attempt, fault.code] for fault in faults[:_MOST_FAULTS]],
        requests=evaluation.requests,
        latency_p95_ms=evaluation.latency_p95_ms,
        declared=declared.as_json(),
        passed=not faults,
        at=now,
        expires_at=now + timedelta(days=settings.MODEL_QUALIFICATION_DAYS),
    )
