import json

from hypothesis import given, settings

from notifications.facts import StatedFacts
from tests.notifications.facts_strategies import FACTS, confirmed


@settings(max_examples=100)
@given(FACTS)
def test_stored_facts_read_back_as_they_were(facts):
    assert StatedFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts


def test_facts_of_an_older_and_of_a_newer_version_are_readable():
    stored = confirmed().to_json()
    del stored["receipt"]
    stored["added_later"] = 1
    assert StatedFacts.from_json(stored) == confirmed()
