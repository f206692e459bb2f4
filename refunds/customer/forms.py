"""What a customer fills in. The rules about content are the API's: ``ledger.intake``."""

import secrets
from typing import Any

from django import forms

from ledger.intake import (
    MAX_MESSAGE,
    IntakeRefusedError,
    check_client_token,
    check_message,
    check_order_number,
    without_sensitive_data,
)
from refunds.customer.orders import UNKNOWN_ORDER


class MessageForm(forms.Form):
    """The customer's own words."""

    message = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 6, "maxlength": MAX_MESSAGE, "aria-describedby": "message-hint"}),
    )

    def clean_message(self) -> str:
        """Return the message, checked; a refused one is shown again without what is sensitive in it."""
        try:
            return check_message(self.cleaned_data["message"])
        except IntakeRefusedError as refused:
            sent = {name: self.data.get(name) for name in self.fields}
            self.data = {**sent, "message": without_sensitive_data(self.cleaned_data["message"])}
            raise forms.ValidationError(refused.text, code=refused.code) from refused


class OrderForm(forms.Form):
    """Which own order a request is about.

    ``order`` is a listed order's number, or empty. A number typed in ``other_order`` wins: it is the later and the
    more deliberate choice.
    """

    order = forms.CharField(required=False, label="Which order is this about?")
    other_order = forms.CharField(
        required=False, label="Order number", widget=forms.TextInput({"autocomplete": "off"})
    )

    def may_name_none(self) -> bool:
        """Say whether it is fine that no number was picked."""
        return False

    def clean(self) -> dict[str, Any]:
        """Set ``order_number`` from what was typed, else from the picker; empty where none has to be named."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        picked, typed = cleaned.get("order", ""), cleaned.get("other_order", "")
        cleaned["order_number"] = ""
        if typed or not self.may_name_none():
            try:
                cleaned["order_number"] = check_order_number(typed or picked)
            except IntakeRefusedError as refused:
                self._show_without_sensitive_data()
                self.add_error("other_order" if typed else "order", refused.text)
        return cleaned

    def refuse_order(self, order_number: str) -> None:
        """Say that the order is not in this account, whoever's it is."""
        self._show_without_sensitive_data()
        self.add_error(
            "other_order" if self.cleaned_data["other_order"] else "order",
            f"We couldn't find order #{without_sensitive_data(order_number)} in this account. "
            "Check the number, and that you're signed in to the account you used to buy it.",
        )

    def _show_without_sensitive_data(self) -> None:
        """Leave what is sensitive out of the fields that are shown again."""
        sent: dict[str, Any] = {name: self.data.get(name) for name in self.fields}
        orders = {
            name: sent[name] and without_sensitive_data(sent[name]) for name in ("order", "other_order")
        }
        self.data = sent | orders


class AskForm(MessageForm, OrderForm):
    """A request in the customer's own words, and the order it is about: one of theirs, or one they can't name.

    ``client_token`` is new with each form that is shown: sending the same form twice is one request.
    """

    client_token = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("message", "order", "other_order", "client_token")

    def __init__(self, *args: Any, may_be_suggested: bool = False, **kwargs: Any) -> None:
        """``may_be_suggested``: where nothing is chosen, the order may be looked for in the message."""
        super().__init__(*args, **kwargs)
        self.may_be_suggested = may_be_suggested

    @property
    def nothing_chosen(self) -> bool:
        """Say whether the customer left the question about the order alone."""
        return self.data.get("order") is None and not self.data.get("other_order")

    def may_name_none(self) -> bool:
        """Say whether the customer does not know the number, or it may be suggested."""
        return self.data.get("order") == UNKNOWN_ORDER or (self.may_be_suggested and self.nothing_chosen)

    def require_order(self) -> None:
        """Ask for an order, since none was chosen and none can be suggested."""
        try:
            check_order_number("")
        except IntakeRefusedError as refused:
            self.add_error("order", refused.text)

    def clean_client_token(self) -> str:
        """Return the token, checked; a form that lost it gets a new one."""
        token: str = self.cleaned_data["client_token"]
        try:
            return check_client_token(token)
        except IntakeRefusedError:
            return new_client_token()

    def renew_token(self) -> None:
        """Give the form that is shown again a token of its own."""
        sent = {name: self.data.get(name) for name in self.fields}
        self.data = {**sent, "client_token": new_client_token()}


def new_client_token() -> str:
    """Return a token for one form that is shown."""
    return f"page-{secrets.token_urlsafe(24)}"
