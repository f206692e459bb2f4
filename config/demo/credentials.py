"""The demo's one password: printed for everybody who runs it, and worth nothing elsewhere."""

from typing import Final

PASSWORD: Final = "refund-desk-demo"  # noqa: S105 - public on purpose
