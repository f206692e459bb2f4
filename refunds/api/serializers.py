"""The JSON that goes in and out; every rule about content is in ``ledger.intake``."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, NoReturn

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from ledger.intake import IntakeRefusedError, check_message, check_order_number, check_problem

_WHAT_GOES: Final = (
    "A text with a card number or a card's security code is refused. Passwords, tokens, cookies, keys, bank account "
    "numbers, e-mail addresses and telephone numbers are replaced by a marker, such as [password removed], before "
    "the text is stored, and the header Removed-From-Message names them."
)
_MOST_UNKNOWN: Final = 10  # a body full of names is not answered with all of them


@extend_schema_field(OpenApiTypes.STR)
class IntakeField(serializers.Field[str, str, str, Any]):
    """A text that one intake check accepts; numbers and other values are never turned into text."""

    def __init__(self, check: Callable[[str], str], **options: Any) -> None:
        super().__init__(**options)
        self._check = check

    def to_internal_value(self, data: Any) -> str:
        """Return the checked text."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Use a text.", code=f"{self.field_name}_not_a_text")
        try:
            return self._check(data)
        except IntakeRefusedError as refused:
            raise serializers.ValidationError(refused.text, code=refused.code.lower()) from refused

    def to_representation(self, value: str) -> str:
        """Return the text as it is."""
        return value

    def fail(self, key: str, **_values: Any) -> NoReturn:
        """Name the member in the code: ``order_number_required``."""
        word = "required" if key in {"required", "null"} else key
        raise serializers.ValidationError(f"{self.field_name} is required.", code=f"{self.field_name}_{word}")


class StrictSerializer(serializers.Serializer[Any]):
    """Members that this version knows, and no others."""

    def to_internal_value(self, data: Any) -> Any:
        """Refuse members that this version does not know, rather than ignoring what somebody meant."""
        if isinstance(data, Mapping):
            names = (name for name in data if name not in self.fields)
            unknown = {name: self._unknown() for name in islice(names, _MOST_UNKNOWN)}
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)

    @staticmethod
    def _unknown() -> list[serializers.ErrorDetail]:
        return [serializers.ErrorDetail("This member is not known.", code="unknown_field")]


class NewRefundRequestSerializer(StrictSerializer):
    """A customer's request about one of their own orders; without a number it waits until they name one."""

    message = IntakeField(
        check_message, help_text=f"What happened, in the customer's own words. {_WHAT_GOES}"
    )
    order_number = IntakeField(
        check_order_number,
        required=False,
        allow_null=True,
        default="",
        help_text="One of the customer's own orders. Left out or null: not known yet.",
    )
    problem = IntakeField(check_problem, required=False, default="", help_text="DUPLICATE_CHARGE.")

    def validate_order_number(self, value: str | None) -> str:
        """Return the number, or an empty text where none is known yet."""
        return value or ""


class MessageSerializer(StrictSerializer):
    """Something more about a request."""

    message = IntakeField(
        check_message, help_text=f"What the customer adds, in their own words. {_WHAT_GOES}"
    )


class OrderNumberSerializer(StrictSerializer):
    """The order that a request is about."""

    order_number = IntakeField(check_order_number, help_text="One of the customer's own orders.")


class StatusSerializer(serializers.Serializer[Any]):
    """What the customer is told now."""

    key = serializers.CharField()
    stage = serializers.CharField()
    heading = serializers.CharField()
    body = serializers.CharField()
    next = serializers.CharField()


class OperationSerializer(serializers.Serializer[Any]):
    """The financial instruction that leads."""

    refund_operation_id = serializers.CharField(source="pk")
    state = serializers.CharField()
    amount_minor_units = serializers.IntegerField()
    currency = serializers.CharField()
    processor_reference = serializers.CharField(allow_null=True)


class TimelineSerializer(serializers.Serializer[Any]):
    """One line of the story."""

    at = serializers.DateTimeField()
    key = serializers.CharField()
    text = serializers.CharField()


class RefundRequestSerializer(serializers.Serializer[Any]):
    """One request as its customer sees it."""

    workflow_id = serializers.CharField(source="workflow.pk")
    reference = serializers.CharField(source="workflow.reference")
    order_number = serializers.CharField(
        source="workflow.order.number",
        allow_null=True,
        help_text="null until the customer has named an order.",
    )
    state = serializers.CharField(source="workflow.state")
    finding = serializers.CharField(source="workflow.finding")
    reason_code = serializers.CharField(source="workflow.reason_code")
    ticket = serializers.IntegerField(source="facts.ticket", allow_null=True)
    status = StatusSerializer(source="statement")
    operation = OperationSerializer(allow_null=True)
    timeline = TimelineSerializer(many=True)
    created_at = serializers.DateTimeField(source="workflow.created_at")
    updated_at = serializers.DateTimeField(source="workflow.updated_at")
    checked_at = serializers.DateTimeField(source="facts.last_checked_at", allow_null=True)


class RefundRequestPageSerializer(serializers.Serializer[Any]):
    """A page of requests, newest first."""

    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = RefundRequestSerializer(many=True)


ProblemSerializer = inline_serializer(
    "Problem",
    {
        "type": serializers.CharField(),
        "title": serializers.CharField(),
        "status": serializers.IntegerField(),
        "code": serializers.CharField(),
        "detail": serializers.CharField(),
        "errors": inline_serializer(
            "FieldProblem",
            {
                "field": serializers.CharField(),
                "code": serializers.CharField(),
                "detail": serializers.CharField(),
            },
            many=True,
            required=False,
        ),
    },
)
