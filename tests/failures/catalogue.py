"""Failures that people reported in public: an id, a kind, and what this product must do instead.

A test that drives the behaviour bears ``@pytest.mark.failure("F001")``; ``make failures`` shows how they went.
Numbers that are missing were left out on purpose.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Failure:
    """One public failure, as a requirement."""

    id: str
    kind: str
    requirement: str


def _kind(kind: str, **requirements: str) -> tuple[Failure, ...]:
    return tuple(Failure(number, kind, text) for number, text in requirements.items())


_GATEWAY: Final = _kind(
    "gateway",
    F001="the same click twice, on two web processes, is one operation and one refund",
    F002="news of a refund that we started ourselves never books it a second time",
    F005="refunding the accidental charge leaves the order's own charge and the order alone",
    F006="a fault after the provider's answer loses no row, and the refund is found again",
    F007="'more than is left' on a later try is a reason to look, not a failure",
    F008="every attempt keeps the operation's key, and an operation can't be deleted",
    F009="work on one operation never sends another one again",
    F011="a sweep over what was sent only reads",
    F013="a timeout is unknown, and becomes completed once the refund is found",
    F016="an operation whose command changed is caught before anything is sent",
    F017="the key depends on the operation's id and on nothing else",
    F018="two equal partial refunds are two operations with a key and a refund each",
    F020="a key in use is waited for and looked up; it is no failure and wakes nobody",
    F021="a charge refunded elsewhere ends in the true state after one POST at most",
    F022="a refund that fails after it succeeded is recorded, told and left to people",
    F023="a canceled refund counts nothing, and a status that nobody knows is for people",
    F024="pending is said to be processing, is not sent again, and completes at succeeded only",
    F025="polling alone completes a refund, without any event",
    F027="an open or lost dispute stops a refund, at the decision and at execution",
    F028="a hold is explained and is never refunded or counted as a charge",
    F030="the target is the proven duplicate among captured charges, never the first row",
    F032="an older event never moves a state back",
    F033="an event whose handling failed is kept and handled once in the end",
    F038="events of the test mode or of another account change nothing",
    F039="an old signature is refused, and without a secret every event is",
    F040="an event is verified when it arrives, however late it is handled",
)
_MONEY: Final = _kind(
    "money",
    F041="parallel refunds of one charge never add up to more than was captured",
    F043="an amount that is zero, negative or not plain is refused before any row",
    F044="the limit is what was captured, not what was authorised",
    F045="yen are sent, stored and shown as yen",
    F047="amounts are whole minor units from end to end",
    F049="amount and currency come from the charge; a disagreement is investigated",
    F050="a payment with more out than in raises an alert by itself",
    F052="equal amounts or a repeated row are no duplicate without two captured charges",
)
_CELERY: Final = _kind(
    "celery",
    F053="however often a message is delivered, one POST; waiting stands in the database",
    F054="kill -9 around the call loses nothing but time",
    F055="a message leaves after the commit of its row",
    F058="two beats do the work of one",
    F059="a thousand scans at once send nothing and soon end",
    F060="workers and pages recover from a database restart by themselves",
    F062="messages of another release lose no work",
    F063="a time limit during the call is an unknown outcome and no loop",
)
_DJANGO: Final = _kind(
    "django",
    F066="a row that exists already breaks no transaction",
    F067="no transaction is open while the provider answers",
    F069="nothing acts on values of a transaction that was rolled back",
    F070="deleting people or orders never deletes evidence",
)
_FSM: Final = _kind(
    "fsm",
    F071="of two equal transitions at once one wins and leaves one event",
    F072="every legal jump is stored with its event",
    F073="rows with a state can be refreshed, locked and saved again",
    F075="a transition that is not stored leaves no message, mail or call",
    F077="recovery and people never work on one operation at the same time",
)
_MODEL: Final = _kind(
    "llm",
    F078="a model that never answers costs its deadline and no more",
    F080="an answer that is always cut off ends after two repairs",
    F081="a refusal is one call and a hand-off",
    F083="a filtered answer is an outcome of its own, never 'no duplicate'",
    F086="an invented tool is a rejected proposal",
    F087="the same call many times is one operation",
    F089="the identity of a refund comes from the request, not from the model",
    F090="no promise reaches a customer that the rows don't bear out",
)
_INJECTION: Final = _kind(
    "injection",
    F091="forged observations in a message prove nothing",
    F093="other people's order numbers in a message lead nowhere",
    F095="exported text runs no formula",
    F096="no address given by a user is followed",
    F098="an uploaded document can't claim another tenant or its own approval",
)
_AUTHZ: Final = _kind(
    "authz",
    F099="another person's ids are answered like unknown ones, everywhere",
    F100="foreign and unknown can't be told apart",
    F102="the throttle counts accounts and trusted addresses",
    F103="nobody approves their own request",
    F106="an approval that expired can't be used",
    F107="of two decisions at once the first stands",
    F109="a second request for the same payment joins the first",
    F111="an approval holds for one exact command",
    F112="policies are those of the order's own tenant",
    F113="who may only look can't act",
)
_TIME: Final = _kind(
    "time",
    F114="days are counted in the zone that the policy names, whatever the server's is",
    F115="days left agree with the calendar",
    F117="without exactly one policy people decide",
    F118="an operation keeps the policy version that decided it",
)
_NOTIFICATION: Final = _kind(
    "notification",
    F120="what is rolled back tells nobody",
    F121="mail trouble touches no refund",
    F122="one event is one message, whatever fails after it left",
    F125="a refused address is shown as such",
    F126="passing mail errors are tried again, final ones are not",
)
_OBSERVABILITY: Final = _kind(
    "observability",
    F127="metric labels are closed sets",
    F129="the whole story is in the database",
    F131="no personal text reaches an error tracker",
    F132="no model output reaches a log",
    F134="state and event are stored together",
    F135="an event published twice is counted once",
)
_INPUT: Final = _kind(
    "input",
    F136="NUL is a 4xx wherever it stands, and nothing is half stored",
    F139="numbers beyond a column are a 4xx, and large real amounts work",
    F140="what is too large is refused at once, and the rest is served meanwhile",
    F141="values that are too long are a 4xx, and the provider's own are kept",
)

FAILURES: Final = (
    *_GATEWAY,
    *_MONEY,
    *_CELERY,
    *_DJANGO,
    *_FSM,
    *_MODEL,
    *_INJECTION,
    *_AUTHZ,
    *_TIME,
    *_NOTIFICATION,
    *_OBSERVABILITY,
    *_INPUT,
)
BY_ID: Final = {failure.id: failure for failure in FAILURES}
