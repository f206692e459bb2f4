"""What a customer fills in. The rules about content are the API's: ``ledger.intake``."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import forms

from ledger.intake import (
    MAX_MESSAGE,
    IntakeRefusedError,
    check_client_token,
    check_message,
    check_order_number,
)
from ledger.models import Order
from ledger.money import UnknownCurrencyError, format_minor_units

ANOTHER_ORDER: Final = ""


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """One of the customer's orders in the picker; ``total`` is empty where the record has none."""

    number: str
    placed_at: datetime
    total: str
    description: str


class AskForm(forms.Form):
    """A request in the customer's own words, and the order it is about.

    ``order`` is a listed order's number, or empty. A number typed in ``other_order`` wins: it is the later and the
    more deliberate choice. ``client_token`` is new with each form that is shown: sending the same form twice is one
    request.
    """

    message = forms.CharField(
        required=False,
        strip=False,
        label="What happened?",
        widget=forms.Textarea({"rows": 6, "maxlength": MAX_MESSAGE, "aria-describedby": "message-hint"}),
    )
    order = forms.CharField(required=False, label="Which order is this about?")
    other_order = forms.CharField(
        required=False, label="Order number", widget=forms.TextInput({"autocomplete": "off"})
    )
    client_token = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean_message(self) -> str:
        """Return the message, checked."""
        return _checked(check_message, self.cleaned_data["message"])

    def clean_client_token(self) -> str:
        """Return the token, checked; a form that lost it gets a new one."""
        token: str = self.cleaned_data["client_token"]
        try:
            return check_client_token(token)
        except IntakeRefusedError:
            return new_client_token()

    def clean(self) -> dict[str, Any]:
        """Set ``order_number`` from what was typed, else from the picker."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        picked, typed = cleaned.get("order", ""), cleaned.get("other_order", "")
        try:
            cleaned["order_number"] = check_order_number(typed or picked)
        except IntakeRefusedError as refused:
            self.add_error("other_order" if typed else "order", refused.text)
        return cleaned

    def renew_token(self) -> None:
        """Give the form that is shown again a token of its own."""
        sent = {name: self.data.get(name) for name in self.fields}
        self.data = {**sent, "client_token": new_client_token()}

    def refuse_order(self, order_number: str) -> None:
        """Say that the order is not in this account, whoever's it is."""
        self.add_error(
            "other_order" if self.cleaned_data["other_order"] else "order",
            f"We couldn't find order #{order_number} in this account. Check the number, and that you're signed in "
            "to the account you used to buy it.",
        )


def order_choices(orders: Iterable[Order]) -> list[OrderChoice]:
    """Return the picker's lines."""
    return [OrderChoice(order.number, order.placed_at, _total(order), order.description) for order in orders]


def new_client_token() -> str:
    """Return a token for one form that is shown."""
    return f"page-{secrets.token_urlsafe(24)}"


def _checked(check: Callable[[str], str], text: str) -> str:
    try:
        return check(text)
    except IntakeRefusedError as refused:
        raise forms.ValidationError(refused.text, code=refused.code) from refused


def _total(order: Order) -> str:
    if order.total_minor_units is None:
        return ""
    try:
        return format_minor_units(order.total_minor_units, order.currency)
    except UnknownCurrencyError:
        return ""
