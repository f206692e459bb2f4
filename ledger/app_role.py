"""The SQL that gives production's application role what it needs, and not the means to rewrite evidence.

Triggers already refuse an UPDATE or DELETE of evidence; the role refuses it a second time, and TRUNCATE as well.
"""

from django.apps import apps
from django.db import models

from ledger.models import AppendOnlyModel, StatefulModel

# Their rows change, and none of them ever goes.
_KEPT = frozenset({"gateway_webhooks", "ledger_entries", "review_cases", "switches"})


def app_role_sql(role: str) -> str:
    """Return statements for the owner of the tables to run after each migration; ``role`` is an identifier."""
    if not role.isidentifier():
        raise ValueError(f"not a role name: {role!r}")
    statements = [
        f"GRANT USAGE ON SCHEMA public TO {role};",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};",
        f"REVOKE TRUNCATE ON ALL TABLES IN SCHEMA public FROM {role};",
    ]
    for model in sorted(apps.get_models(), key=_table):
        if issubclass(model, AppendOnlyModel):
            statements.append(f"REVOKE UPDATE, DELETE ON {_table(model)} FROM {role};")
        elif issubclass(model, StatefulModel) or _table(model) in _KEPT:
            statements.append(f"REVOKE DELETE ON {_table(model)} FROM {role};")
    return "\n".join(statements) + "\n"


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table  # noqa: SLF001 - Django's public metadata API
