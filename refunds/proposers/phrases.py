"""The forms of sentences that a draft may be made of when it is shown. Pure.

Rules that look for bad wordings know the ones that somebody thought of: "it is back on your card" is none of them. So
a draft is shown only where each of its sentences is one of these forms, and where what the form says holds now.
Whatever else a model writes, true or not, the catalogue says better. The forms read folded text: lower case, straight
quotes, plain hyphens. Every repetition is bounded. One line is one form.
"""

import re
from typing import Final


def _either(*forms: str) -> str:
    return f"(?:{'|'.join(forms)})"


_WE: Final = r"(?:i|we)(?:'ve| have)?(?: now| already| also| just)?"
_ITEM: Final = r"(?:request|case|message|question|concern|report)"
_IT: Final = rf"(?:it|this|that|(?:your|the|this) {_ITEM})"
_ORDER: Final = (
    r"(?:(?: (?:on|for|of|in))? (?:(?:your|this|the|the same|one|one and the same) )?(?:order|purchase))?"
)
_TOLD: Final = (
    r"(?: (?:that |which )?you (?:described|mentioned|reported|told us about|asked about|wrote about))?"
)
_RECORDS: Final = r"(?:(?:our|the|your) (?:payment )?(?:records|evidence|charges)|both charges)"
_CHARGE: Final = (
    r"(?:duplicate|double|second|extra|identical|same|duplicated)(?: (?:charge|payment|capture)s?)?"
)
_ONE_CHARGE: Final = rf"(?:it|this|that|the {_CHARGE}|the (?:later|second) one|one of the charges)"
_A_DUPLICATE: Final = rf"(?:(?:a|the|that|your|this|one) {_CHARGE}|two (?:identical |completed )?charges)"
_SEEMS: Final = (
    r"(?:(?:i'm|i am|we're|we are) sorry that |(?:i|we) (?:can see|see|found|verified|confirmed|understand) that "
    r"|(?:found|verified|confirmed) that |it (?:looks like|seems|appears)(?: that)? )?"
)
_TEAM: Final = r"(?:our|the|our own) (?:billing |review |support |billing support )?team"
_SOMEBODY: Final = (
    rf"(?:(?:(?:a|one|another) (?:colleague|person|specialist|member|team member|human)|somebody|someone)"
    rf"(?: (?:from|of|on|in) {_TEAM})?|{_TEAM}|people)"
)
_HELPED: Final = r"(?: (?:for|with) you)?(?: (?:carefully|more closely|first|here))?"
_WHAT: Final = rf"(?:{_IT}|{_RECORDS}{_ORDER})"
_FOR: Final = (
    r"(?:your (?:patience|message|request|question|report|understanding|time|note)|waiting|the wait|"
    rf"(?:telling|informing) us(?: about {_IT})?|letting us know(?: about {_IT})?|explaining(?: {_IT})?(?: to us)?|"
    rf"writing(?: to us)?(?: about {_IT})?|contacting us(?: about {_IT})?|reaching out(?: to us)?(?: about {_IT})?|"
    rf"getting in touch(?: with us)?(?: about {_IT})?|bringing {_IT} to our attention|raising {_IT}|asking)"
)
_TROUBLE: Final = (
    r"(?:the|any|this|your|all the) (?:trouble|inconvenience|confusion|wait|frustration|worry|delay)"
)

# Nothing about a request is said here, but that it is there and was read.
_ALWAYS: Final = (
    r"(?:hello|hi|hi there|hello there|dear customer|understood)",
    rf"(?:many )?(?:thank you|thanks)(?: very much| so much| again)?(?: for {_FOR}(?: and (?:for )?{_FOR})?)?",
    rf"{_WE} appreciate {_FOR}",
    (
        rf"(?:(?:i'm|i am|we're|we are|i|we) )?(?:very |so |really |truly )?(?:sorry|apologi[sz]e)"
        rf"(?: for {_TROUBLE}| about (?:that|this|it)| to hear (?:of|about) (?:it|this|that))?"
    ),
    r"(?:i|we) understand(?: (?:that )?(?:this|it) (?:is|can be|must be) (?:frustrating|annoying|unpleasant))?",
    rf"{_WE} (?:looked at|looked into|checked|read|received|noted) (?:{_IT}|what you wrote|{_RECORDS}{_ORDER})",
    rf"your {_ITEM} (?:has been|was) (?:received|read|noted)",
    r"you can follow (?:it|this|your request) (?:here|on this page|on the status page)",
    r"(?:i|we)(?: am|'m|'re| are)? (?:want|would like|here) to help",
)
_VERIFIED: Final = (
    (
        rf"(?:{_WE}|{_RECORDS}|(?:i|we) can) (?:see|found|find|verified|verify|confirmed|confirm|confirms|show|shows)"
        rf"(?: that (?:there (?:is|are)|we received))? {_A_DUPLICATE}{_TOLD}{_ORDER}{_TOLD}"
    ),
    rf"{_WE} (?:verified|confirmed|found) that a duplicate charge exists{_ORDER}",
    rf"there (?:is|are|was|were) {_A_DUPLICATE}{_ORDER}",
    rf"{_SEEMS}(?:you|your card|your order) (?:was|were|has been|have been) charged twice{_ORDER}",
    (
        rf"{_SEEMS}(?:the|this|your|the same) (?:charge|payment)(?: on your (?:credit )?card)? "
        rf"(?:appears|was taken) twice(?: in {_RECORDS})?"
    ),
    (
        rf"{_SEEMS}(?:this|it|one of them|one of the charges|the (?:second|later|other) (?:one|charge)) (?:is|was) "
        rf"(?:a|the) duplicate(?: charge| payment| of the first one)?{_ORDER}"
    ),
    rf"it's a duplicate(?: charge)?{_ORDER}",
    (
        rf"(?:the|your) duplicate(?: charge| payment)? (?:has been|was|is) (?:verified|confirmed|found)"
        rf"(?: (?:in|against) {_RECORDS})?"
    ),
    r"both charges are for the same (?:order|purchase)",
    r"(?:i|we) understand how frustrating a (?:double|duplicate) charge (?:is|can be|must be)",
    rf"(?:i'm|i am|we're|we are) sorry (?:about|for) the {_CHARGE}",
)
# What was approved is sent by trusted code; until then it can be.
_APPROVED: Final = (
    (
        rf"(?:(?:i|we) )?can (?:now )?(?:submit|put forward) {_ONE_CHARGE}{_ORDER} for (?:a )?refund"
        r"(?: on your behalf)?"
    ),
    rf"(?:(?:i|we) )?can put {_ONE_CHARGE} forward for (?:a )?refund",
    rf"(?:it|this|the {_CHARGE}) can (?:now )?be submitted for (?:a )?refund",
)
_WITH_PEOPLE: Final = (
    rf"(?:{_SOMEBODY}|we) (?:is|are|will be) (?:looking at|looking into|checking|reviewing) {_WHAT}{_HELPED}",
    rf"{_SOMEBODY} (?:looks at|looks into|checks|reviews|has|have) {_IT}{_HELPED}",
    rf"(?:{_SOMEBODY}|we) (?:will|should|can|needs to|has to) (?:look at|look into|check|review) {_WHAT}{_HELPED}",
    rf"{_WE} asked (?:{_SOMEBODY}|one)(?: for help| to (?:look at|look into|check|review) {_WHAT}{_HELPED})?",
    rf"{_WE} (?:passed|handed|forwarded|given) {_IT} (?:on |over )?to {_SOMEBODY}(?: who can help)?",
    rf"{_IT} (?:is with|(?:has been|was) (?:passed|handed|forwarded)(?: on)? to) {_SOMEBODY}(?: who can help)?",
    rf"{_IT} needs (?:{_SOMEBODY}|a closer look)",
    rf"{_IT} (?:is pending|is waiting for|waits for|needs) (?:a )?review by {_SOMEBODY}",
    rf"(?:i'm|i am|we're|we are) asking {_SOMEBODY} to (?:look at|look into|check|review|help with) {_IT}{_HELPED}",
    rf"{_WE} appreciate {_FOR} while {_SOMEBODY} (?:reviews|checks|looks at) {_IT}",
)
_JOINT: Final = r"(?:,? (?:and|so|but)(?: so)?|,) "
_MOST_JOINED: Final = 3
_ENDS: Final = re.compile(r"[.!?;:\n]+| - ")


def _sentence(*groups: tuple[str, ...]) -> re.Pattern[str]:
    form = _either(*(form for group in groups for form in group))
    return re.compile(rf"{form}(?:{_JOINT}{form}){{0,{_MOST_JOINED}}},?")


_SENTENCES: Final = {
    (verified, approved, with_people): _sentence(
        _ALWAYS,
        *((_VERIFIED,) if verified else ()),
        *((_APPROVED,) if approved else ()),
        *((_WITH_PEOPLE,) if with_people else ()),
    )
    for verified in (False, True)
    for approved in (False, True)
    for with_people in (False, True)
}


def is_made_of_known_forms(folded: str, *, verified: bool, approved: bool, with_people: bool) -> bool:
    """Say whether every sentence is a known form that holds; `folded` names no identifiers any more."""
    known = _SENTENCES[verified, approved, with_people]
    sentences = (" ".join(sentence.replace(" ,", ",").split()) for sentence in _ENDS.split(folded))
    return all(known.fullmatch(sentence) for sentence in sentences if sentence)
