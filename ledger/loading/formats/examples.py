"""A small file in each documented format, for ``load_ledger --example`` and docs/ledger-files.md."""

from collections.abc import Mapping
from typing import Final

_JSON: Final = """\
{
  "taken_at": "2024-11-28T10:00:00Z",
  "merchants": [
    {"code": "harbour-home", "name": "Harbour Home", "region": "US"}
  ],
  "customers": [
    {"merchant": "harbour-home", "reference": "C-1001", "email": "ana@example.com"}
  ],
  "orders": [
    {
      "merchant": "harbour-home", "number": "2841", "customer": "C-1001",
      "description": "Blue kettle", "total_minor_units": 4999, "currency": "USD",
      "placed_at": "2024-11-26T09:30:00Z",
      "payments": [
        {
          "reference": "ch_example_1", "method_fingerprint": "fp_example", "method_last4": "4242",
          "entries": [
            {"kind": "CAPTURE", "status": "SUCCEEDED", "amount_minor_units": 4999, "currency": "USD",
             "occurred_at": "2024-11-26T09:30:05Z"}
          ]
        },
        {
          "reference": "ch_example_2", "method_fingerprint": "fp_example", "method_last4": "4242",
          "entries": [
            {"kind": "CAPTURE", "status": "SUCCEEDED", "amount_minor_units": 4999, "currency": "USD",
             "occurred_at": "2024-11-26T09:30:41Z"},
            {"kind": "REFUND", "reference": "re_example_1", "status": "FAILED",
             "amount_minor_units": 4999, "currency": "USD", "occurred_at": "2024-11-27T08:00:00Z"}
          ]
        }
      ]
    }
  ]
}
"""

_CSV: Final = """\
merchant,customer_reference,customer_email,order_number,order_description,order_total_minor_units,\
order_currency,order_placed_at,payment_reference,method_fingerprint,kind,status,amount_minor_units,\
currency,occurred_at
harbour-home,C-1001,ana@example.com,2841,Blue kettle,4999,USD,2024-11-26T09:30:00Z,ch_example_1,\
fp_example,CAPTURE,SUCCEEDED,4999,USD,2024-11-26T09:30:05Z
harbour-home,C-1001,,2841,,,,,ch_example_2,fp_example,CAPTURE,SUCCEEDED,4999,USD,2024-11-26T09:30:41Z
harbour-home,C-1001,,2842,Oak tray,1250,EUR,2024-11-27T12:00:00Z,,,,,,,
"""

EXAMPLES: Final[Mapping[str, str]] = {"json": _JSON, "csv": _CSV}
