"""Card numbers in free text: published test numbers only."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.card_numbers import find_card_numbers, has_card_number, mask_card_numbers
from ledger.ids import new_id, new_reference

CARDS = (
    "4242424242424242", "5555555555554444", "2223003122003222", "378282246310005", "6011111111111117",
    "3056930009020004", "30569309025904", "3566002020360505", "6205500000000000004", "4222222222222",
)  # fmt: skip
FULL_WIDTH, ARABIC = "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩"
BETWEEN = st.text(alphabet=" \n\r\t-\u00a0\u2013\u2014\u2212\u200b\u3000", max_size=4)


def grouped(card, sign):
    return sign.join(re.findall(r".{1,4}", card))


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize(
    "sign", ["", " ", "-", "\n", " - ", "\u2011", ".", "/", ",", "|", ":", "\\", "*", "=", "…"]
)
def test_a_card_number_is_found_however_it_is_written(card, sign):
    text = f"My card {grouped(card, sign)}, charged twice."
    assert mask_card_numbers(text, "*") == "My card *, charged twice."


@pytest.mark.parametrize("digits", [FULL_WIDTH, ARABIC])
def test_digits_of_every_script_count(digits):
    assert has_card_number("".join(digits[int(digit)] for digit in CARDS[0]))


def test_superscript_and_keycap_digits_count():
    assert has_card_number("⁴²" * 8)
    assert has_card_number("".join(f"{digit}\ufe0f\u20e3" for digit in CARDS[0]))


@given(st.sampled_from(CARDS), st.data(), st.sampled_from(["", "Card:", "number ", "my card's "]))
def test_no_spacing_hides_one(card, data, before):
    written = card[0] + "".join(data.draw(BETWEEN) + digit for digit in card[1:])
    assert has_card_number(f"{before}{written} please")


@given(st.sampled_from(CARDS), st.integers(0, 9), st.integers(0, 12))
def test_one_wrong_digit_is_no_card(card, digit, place):
    wrong = card[:place] + str(digit) + card[place + 1 :]
    assert has_card_number(wrong) == (wrong == card)


@pytest.mark.parametrize(
    "look_alike",
    [
        "order 2841, 2843 and 2845",
        "4242 4242 4242 4241",
        "42424242424242424242424242 is a tracking number",
        "20261130012338",  # a time
        "1764465818123456789",  # nanoseconds
        "ch_4242424242424242",
        "re_3QMT4242424242424242",
        "123e4567-4242-4242-8242-424242424242",
        "30433819-7096-420f-9b9f-ff555504a5dd",  # its first 15 digits pass the check
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "$49.99 and $49.99",
        "+1 (555) 010-9999",
        "4242,4242,4242,4241",
        "4242,4242:4242|4242",  # no card is printed with several signs
        "orders 4242, 4242, 4242, 4242",
        "1,424,242,424,242,424",
        "2026-11-30T01:23:38.123456+00:00",
    ],
)
def test_a_look_alike_stays(look_alike):
    assert find_card_numbers(look_alike) == []


@given(
    st.sampled_from(["wf", "rfop", "gwa", "apr", "aud"]),
    st.uuids(version=4),
    st.binary(min_size=16, max_size=16),
)
def test_no_identifier_is_taken_for_a_card(prefix, request_id, trace_id):
    hexadecimal = trace_id.hex()
    for identifier in (new_id(prefix), new_reference(), str(request_id), "a" + hexadecimal[1:]):
        assert find_card_numbers(f"{identifier} done") == []


@given(st.sampled_from(CARDS), st.uuids(version=4))
def test_no_uuid_is_taken_for_a_card_whatever_digits_it_begins_with(card, random):
    hexadecimal = card + random.hex[len(card) :]
    parts = (hexadecimal[:8], hexadecimal[8:12], hexadecimal[12:16], hexadecimal[16:20], hexadecimal[20:])
    assert find_card_numbers("-".join(parts)) == []


@given(st.text())
def test_spans_lie_in_the_text_and_nothing_is_left_after_masking(text):
    spans = find_card_numbers(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert find_card_numbers(mask_card_numbers(text, "*")) == []


@pytest.mark.parametrize("piece", ["4", "4 ", "4" + " " * 9, "4-", "é", "4242 ", "4242.", "a1"])
def test_no_text_makes_it_slow(piece):
    text = (piece * 20_000)[:20_000]
    begun = time.process_time()
    find_card_numbers(text)
    assert time.process_time() - begun < 1
