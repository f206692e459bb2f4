import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.money import UnknownCurrencyError, exponent, format_minor_units, parse_major_units


@pytest.mark.parametrize(
    ("currency", "places"),
    [("USD", 2), ("JPY", 0), ("KWD", 3), ("HUF", 2), ("COP", 2), ("IDR", 2), ("ALL", 2), ("ISK", 0), ("UGX", 0),
     ("MGA", 2), ("IQD", 3), ("CLF", 4)],
)  # fmt: skip
def test_exponents_are_those_of_iso_4217_and_not_of_locale_data(currency, places):
    assert exponent(currency) == places


@pytest.mark.parametrize("currency", ["", "usd", "US", "USDX", "ZZZ", "U$D"])
def test_a_code_that_is_no_currency_is_refused(currency):
    with pytest.raises(UnknownCurrencyError):
        exponent(currency)


@pytest.mark.failure("F047")
@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("145.05", 14505),
        ("8.20", 820),
        ("19.99", 1999),
        ("0.29", 29),
        ("4.35", 435),
        ("1.15", 115),
        ("-5.00", -500),
    ],
)
def test_major_units_are_read_exactly(text, minor):
    assert parse_major_units(text, "USD") == minor


@pytest.mark.failure("F043")
@pytest.mark.parametrize(
    "text", ["1e3", "5,00", "", "-", "NaN", "Infinity", "1.234", "٣", "１", "1 0", "0x1", "1_0"]
)
def test_anything_but_a_plain_decimal_is_refused(text):
    with pytest.raises(ValueError, match=r"not an amount|more decimals"):
        parse_major_units(text, "USD")


@given(st.integers(0, 10**15), st.sampled_from(["USD", "JPY", "KWD", "HUF", "CLF"]))
def test_what_is_written_in_major_units_is_read_back(amount, currency):
    places = exponent(currency)
    digits = str(amount).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    assert parse_major_units(text, currency) == amount


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [(4999, "USD", "$49.99"), (500, "JPY", "¥500"), (5120, "KWD", "KWD 5.120"), (100_000, "HUF", "HUF 1,000.00"),
     (-500, "USD", "-$5.00"), (2**31 + 1, "EUR", "€21,474,836.49")],
)  # fmt: skip
def test_amounts_are_written_for_people(amount, currency, text):
    assert format_minor_units(amount, currency) == text
