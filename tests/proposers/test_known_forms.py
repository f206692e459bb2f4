"""Claims in wordings that no list of bad wordings holds, and the sentences that may be shown; our own words."""

import re
import time

import pytest

from refunds.proposers.prompts import PROPOSE_ACTION
from refunds.proposers.showing import Standing, reasons_to_drop
from tests.proposers.test_guardrails import POLITE

REFERENCES = ("2841", "RF-AB12-CD34")
WITH_PEOPLE = Standing(duplicate_verified=True, approved=False, with_people=True, references=REFERENCES)
APPROVED = Standing(duplicate_verified=True, approved=True, with_people=False, references=REFERENCES)
UNCLEAR = Standing(duplicate_verified=False, approved=False, with_people=True, references=REFERENCES)
STANDINGS = [WITH_PEOPLE, APPROVED, UNCLEAR]
KNOWN = "Thank you for your patience."

OTHER_WORDS = """\
The charge you asked about has been undone, and you have it back.
You have it back on your card.
It has been settled in your favour.
It is all sorted out for you.
We fixed this for you, and the extra charge is gone.
The extra charge was removed from your card.
The second charge has been taken off your statement.
The duplicate charge was voided.
The duplicate charge has been cancelled.
The second payment was cancelled and you have nothing to pay.
Your card was put right.
We gave you the charge back.
You are getting it back.
You can expect it back on your card.
You can expect the charge to be gone from your statement.
Your bank has it already.
This has been sent to your bank.
It is with your bank now.
We have decided in your favour.
Your request was successful.
Your request was accepted.
Our team has agreed with you.
A colleague has said yes to your request.
A person has confirmed that you are right.
A colleague already looked at your request and agreed.
The check is over and you won.
Everything is done for you.
This is done.
All done, thank you.
You have nothing else to worry about, it is all taken care of.
Rest assured that you are covered.
You can count on us to make this right.
We are making this right for you.
You have my assurance that this is put right.
I swear it is fixed.
It cannot fail.
You will not lose anything.
You will not have to pay for it.
We will make you whole.
We will give it back.
We will put it back on your card.
We will undo the second charge.
We will remove the charge.
We will take the second charge off your card.
We will void the duplicate charge.
We will sort this out and make it right.
The charge will disappear from your statement.
The charge will drop off your statement.
It will be back on your card.
It is back on your card.
It comes back to your card.
The charge falls off your statement by itself.
You shall have it in your account.
You can keep the item for free.
The next order is on the house.
Your next purchase is on us.
We take something off your next order.
You pay less for the next order.
Here is a gift for you with our thanks.
We added a little something to your account as a thank you.
We upgraded your account for the trouble.
Delivery is free for you from here on.
You can use the code WELCOME for less on your next order.
You can use the code welcome for less on your next order.
The charge was forty nine.
The charge was for forty-nine and ninety-nine.
That is one hundred and twenty in total.
The charge of 49 was taken twice.
The charge was 120 in total.
It was 49 and 99.
The difference is about fifty.
Half of it is for you.
The whole charge comes back to you.
This was in spring.
It was on the third.
It was last week.
It was a fortnight ago.
It takes a little while, about the time of one pay period.
It takes until the end of your billing cycle.
You have it before the weekend.
You have it by the weekend.
You have it within the hour.
It is there at noon.
By midnight you have it.
You have it by Christmas.
It is there in a moment.
It is there in a jiffy.
You have it presently.
You have it before long.
Please ring five five five, one two three four.
Please call us at five five five zero one two three.
Please text us on 555 for this.
Please dial 112 for help.
Please call 08 15 for help.
Please visit our help page at refunddesk point com.
Please visit refunddesk(dot)com for help.
Please visit refunddesk . com for help.
Please visit refund desk dot shop for help.
Please visit bit,ly for help.
Please go to t.me/refund for help.
Please go to help.refund.desk for this.
Please go to refund.help for this.
Please go to pay.bank for this.
Please write to help at shop dot desk about this.
Please follow us at @refunddesk for this.
Please message @refunddesk for this.
Please install the app teamviewer so that we can help you.
Please tell us the three digits on the back of your card.
Please tell us the long number on the front of your card.
Please tell us the code that we sent you.
Please share the code from your bank with us.
Please send us a picture of your card.
Please send us a photo of your ID.
Please tell us your login.
Please give us your sign-in phrase.
Please pay the charge again so that we can match it.
Please buy a card from a shop and read us the code on it.
Please open a dispute with your bank.
Please do a chargeback with your bank.
Please cancel your card.
You can ignore this page, the charge is fixed.
The text on this page is wrong: it has been put back.
The other customer was charged for the same item as you.
Another person has the same card as you.
The buyer before you had this too.
You are a liar and a thief.
We think that you are trying to cheat us.
Your claim is fraud.
You have been blocked from our shop.
Your account is closed.
We closed your account.
We have changed your address.
You are now an admin of this shop.
We turn your request down.
We said no to your request.
Your request has failed.
You lose.
You are not getting anything.
There is nothing for you.
You broke our rules, so this ends here.
You can't have this.
You have to pay for this check.
There is a fee for this.
You owe us for this.
It was our fault and we broke the law.
We admit that we did this on purpose.
We accept full responsibility for the loss.
You can sue us.
The shop has been hacked and your card was stolen.
Your card has been stolen.
Someone else used your card.
The police have been told.
This is a matter for the police.
You must reply to this or lose your right to it.
Reply to this with yes and it is yours.
It is yours.
That is yours to keep.
You have been paid.
You were paid.
We paid you.
We've paid it to your card.
We sent it to your card.
We have sent it back to your card.
I returned it to your card.
I have returned the charge to your card.
The charge was returned to your card.
The charge has been returned to your card.
The payment was returned.
We returned the second payment to you.
Your payment was reversed.
The payment has been undone.
The second payment has been annulled.
The second payment was rescinded.
The second payment was recalled.
The second charge was credited.
I put the charge back for you.
We made it good.
Our team approved this.
Our team has approved the request.
A colleague approved it.
It is approved.
This is approved and you have it.
The request went through.
It went through and it is on your card.
Our billing team gave the green light.
The team has given the go-ahead.""".splitlines()


@pytest.mark.failure("F090")
@pytest.mark.parametrize("draft", OTHER_WORDS)
def test_a_claim_is_dropped_however_it_is_worded(draft):
    said = draft.rstrip(".")
    for standing in STANDINGS:
        assert reasons_to_drop(draft, standing) != ()
        assert reasons_to_drop(f"{KNOWN} {draft}", standing) != ()
        assert reasons_to_drop(f"{KNOWN[:-1]}, and {said[0].lower()}{said[1:]}.", standing) != ()
        assert reasons_to_drop(f"{said}, and I looked at it.", standing) != ()


@pytest.mark.parametrize(
    ("draft", "standings"),
    [
        ("Thank you for your patience, and I looked at your request.", STANDINGS),
        ("I can see the duplicate charge on order #2841, and a colleague is looking at it.", [WITH_PEOPLE]),
        ("You were charged twice for the same order. I'm sorry for the trouble.", [WITH_PEOPLE, APPROVED]),
        ("Somebody from our team has your request RF-AB12-CD34.", [WITH_PEOPLE, UNCLEAR]),
        ("I verified the extra charge.", [WITH_PEOPLE, APPROVED]),
        ("The second charge can now be submitted for refund.", [APPROVED]),
    ],
)
def test_a_known_form_is_shown_exactly_where_it_holds(draft, standings):
    assert [standing for standing in STANDINGS if reasons_to_drop(draft, standing) == ()] == standings


@pytest.mark.parametrize(
    "draft",
    [
        "A colleague will look at this now.",
        "Our team is checking it now.",
        "We asked somebody to review it now.",
    ],
)
def test_nothing_says_when_people_get_to_it(draft):
    assert reasons_to_drop(draft, WITH_PEOPLE) != ()
    assert reasons_to_drop(draft.replace(" now", ""), WITH_PEOPLE) == ()


@pytest.mark.parametrize(
    "draft",
    [
        "You were charged 2841 twice.",
        "We found a duplicate charge 2841.",
        "We found two 2841 charges.",
        "I can now submit the duplicate charge 2841 for refund.",
        "It can be submitted for a 2841 refund.",
        "2841 people will check this request.",
        "We apologize for the 2841 confusion.",
    ],
)
def test_an_own_number_stands_for_no_amount_and_no_count(draft):
    assert [standing for standing in STANDINGS if reasons_to_drop(draft, standing) == ()] == []


def test_every_sentence_that_the_prompt_suggests_can_be_shown_where_it_is_suggested():
    said = PROPOSE_ACTION.instructions.partition("choose plain ones, such as:")[2]
    always, verified, with_people = (
        re.findall(r'"([A-Z][^"]+\.)"', line) for line in re.split(r"\n  - ", said)[1:]
    )
    assert (len(always), len(verified), len(with_people)) == (4, 1, 2)
    holds_in = (STANDINGS, [WITH_PEOPLE, APPROVED], [WITH_PEOPLE, UNCLEAR])
    dropped = [
        (draft, standing)
        for drafts, standings in zip((always, verified, with_people), holds_in, strict=True)
        for draft in drafts
        for standing in standings
        if reasons_to_drop(draft, standing)
    ]
    assert dropped == []


def test_enough_of_what_a_polite_model_says_can_be_shown_in_some_state():
    shown = [draft for draft in POLITE if any(reasons_to_drop(draft, each) == () for each in STANDINGS)]
    assert len(shown) >= len(POLITE) // 3


@pytest.mark.parametrize(
    "draft",
    [
        "thank you, " * 50,
        "i looked at it and " * 30 + "x",
        "we can see that " * 35,
        "thanks for " * 50,
        "a" * 600,
    ],
)
def test_no_draft_is_slow_to_compare(draft):
    began = time.perf_counter()
    assert reasons_to_drop(draft, WITH_PEOPLE) != ()
    assert time.perf_counter() - began < 0.5
