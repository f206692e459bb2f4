"""The words by which a draft claims, promises, dates, prices, asks or instructs. Pure.

The patterns read folded text: lower case, straight quotes, plain hyphens, single spaces. Every repetition is
bounded. One line is one way of saying it.
"""

import re
from typing import Final


def _either(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


def _words(*alternatives: str) -> str:
    return rf"\b(?:{'|'.join(alternatives)})\b"


MASK: Final = "[\u2026]"  # stands where sensitive data stood
_NUMBER: Final = (
    r"(?:\d[\d.,']{0,20}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|fifteen|twenty|"
    r"thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|several|few|couple of)"
)
_TIME_UNIT: Final = r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONEY_NOUN: Final = r"(?:refunds?|money|funds|reimbursements?|payouts?|repayments?)\b(?! requests?)"
# "can be submitted for refund" says what is possible, not what happened.
_POSSIBLE: Final = r"(?:can|could|may|might)(?: now| then)? be\b"
_NOT_AFTER_POSSIBLE: Final = "".join(
    f"(?<!{verb}{adverb} be )"
    for verb in ("can", "could", "may", "might")
    for adverb in ("", " now", " then")
)
_BETWEEN: Final = rf"(?: (?!(?:and|but|so|that|which)\b|{_POSSIBLE})[\w']{{1,30}}){{0,4}}? "
_WILL: Final = r"(?:\b(?:will|shall|going to|gonna|about to)|'ll)"
_FILLERS: Final = (
    r"(?: (?:be|now|then|also|soon|gladly|certainly|definitely|surely|fully|happily|get|have|you|it|this|"
    r"that|your|the|a|full|both|always|shortly|been|being|to|us|me|in|back)){0,5}"
)
_DONE_TO_MONEY: Final = (
    r"(?:approved|issued|processed|submitted|executed|initiated|rejected|denied|declined|cancel+ed|settled|"
    r"transferred|sent|deposited|finali[sz]ed|made|granted|authori[sz]ed|returned|reversed)"
)

SPACED_LETTERS: Final = re.compile(r"(?<!\w)(?:[^\W\d_][ .\-_*]{1,3}){5,}[^\W\d_](?!\w)")

MARKUP: Final = _either(
    r"<\s{0,3}[a-zA-Z/!?]",
    r"&(?:[a-zA-Z]{2,8}|#\w{1,8});",
    r"!\[",
    r"\]\s{0,3}[(:]",
    r"```|~~~",
    r"\{\{|\{%|\$\{",
)

CARD_TAIL: Final = _either(
    r"\bending (?:in|with) \d{2,4}\b",
    r"[*x\u2022.]{3,} ?\d{4}\b",
)

REFERENCE: Final = _either(
    r"\d{4,}",
    r"#\s?\w{0,10}\d",
    r"\b(?:order|transaction|payment|charge|refund|reference|ref|case|ticket|invoice|customer|account|id)s?"
    r"(?: (?:number|no\.?|id|code|reference))? ?[:#]? ?[a-z\-_]{0,8}\d",
    r"\b(?=[a-z]{0,63}\d)(?=\d{0,63}[a-z])[a-z0-9]{6,64}\b",
    r"\b(?:wf|rfop|apr|ch|re|pi|py|pm|cus|acct|txn|evt|in|sub|po|tr|src|card|tok|req|rf)_[a-z0-9]{2,}",
    r"\brf-[a-z0-9]{2,}",
)

MONEY: Final = _either(
    r"[$\u00a2-\u00a5\u058f\u060b\u0e3f\u20a0-\u20cf]",
    r"\d[.,]\d{2,3}(?!\d)",
    r"\d ?%",
    _words(
        r"usd|eur|gbp|jpy|kwd|chf|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|inr|cny|brl|mxn|zar|bhd|omr|tnd|aed"
    ),
    _words(r"dollars?|euros?|cents?|yens?|dinars?|fils|pounds?|pence|francs?|rupees?|bucks?|quid"),
    _words(r"percent", r"minor units?"),
)

DATE: Final = _either(
    r"\b\d{4}-\d{1,2}-\d{1,2}\b",
    r"\b\d{1,2}[./\-]\d{1,2}[./\-]\d{2,4}\b",
    r"\b(?!24/7)\d{1,2}/\d{1,2}\b",
    r"\b\d{1,2}:\d{2}\b",
    r"\b\d{1,2} ?[ap]\.?m\b",
    rf"\b{_MONTH}\.? \d",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b",
    rf"\bin {_MONTH}\b",
    _words(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"),
    _words("today", "tonight", "tomorrow", "yesterday", "overnight", "immediately", "instantly"),
    _words(r"(?:next|this|end of the|end of) (?:day|week|weekend|month|year|morning|afternoon|evening)"),
    _words(r"(?:business|working|calendar|banking) days?"),
    # "a second charge" is an ordinal.
    rf"\b(?!an? second\b){_NUMBER}(?: ?(?:-|to|or) ?{_NUMBER})?[ \-]"
    rf"(?:more |full |business |working )?{_TIME_UNIT}\b",
)

PROMISE: Final = _either(
    _words(
        r"guarantee[sd]?", r"promis(?:e|es|ed|ing)", "assured?", "warrant", "you have my word", "no doubt"
    ),
    _words(r"on (?:its|the) way", "right away", "count on it"),
    rf"{_WILL}{_FILLERS} (?:refund(?:ed|ing)?|reimburse[ds]?|repaid|repay|pay|paid|credit(?:ed)?|waived?|"
    r"compensated?|cancel(?:led|ed)?|revers(?:e|ed)|transfer(?:red)?|deposit(?:ed)?|return(?:ed)?|money|"
    r"arrive|appear)\b",
    # "will submit this for review" announces what the desk does anyway.
    rf"{_WILL}{_FILLERS} (?:process|issu|complet|initiat|approv|execut|submit|send|sent|finali[sz])\w{{0,6}}"
    r"\b(?!.{0,60}\breview)",
    rf"{_WILL}{_FILLERS} (?:receiv|see|get|have)\w{{0,3}}(?: \w{{1,12}}){{0,3}} "
    r"(?:refund|money|funds|payment|amount)\b",
    r"\byou(?:'re| are) (?:entitled|eligible|owed|due)\b",
    r"\b(?:money|funds|refund|payment|amount) (?:should|will|must|is going to|ought to) ",
)

STATUS: Final = _either(
    rf"{_NOT_AFTER_POSSIBLE}(?<!\bto be )(?<!\bit be )\brefunded\b",
    _words("reimbursed", "repaid", "credited", "paid (?:back|out)", "money back"),
    # What the ledger says of a charge is no claim about a refund.
    r"(?<!charge was )(?<!charges were )\bcompleted\b(?! (?:charge|capture|purchase)s?\b)",
    _words(
        r"(?:reembols|rembours|erstatt|r\u00fcckerstatt|rimbors|terugbetaal|terugbetal|\u00e5terbetal|zwr\u00f3|"
        r"devuel|devolu)\w{0,12}"
    ),
    rf"\b{_MONEY_NOUN}{_BETWEEN}(?:{_DONE_TO_MONEY}|processing|complete|done|successful|successfully|confirmed|"
    r"pending|final|underway|in progress|failed|arrived)\b",
    rf"{_NOT_AFTER_POSSIBLE}\b{_DONE_TO_MONEY}{_BETWEEN}{_MONEY_NOUN}",
    rf"\b(?:requests?|claims?|case){_BETWEEN}"
    r"(?:approved|rejected|denied|declined|granted|processed|closed|resolved|successful|complete)\b",
    r"\b(?:i|we|i've|we've|i have|we have)(?: \w{1,12}){0,2} (?:approved|issued|processed|executed|"
    r"initiated|transferred|reversed|authori[sz]ed|granted|deposited|rejected|denied|declined)\b",
    r"\b(?:has|have|had|was|were|is|been)(?: \w{1,12}){0,2} (?:approved|settled|reversed|granted)\b",
)

COMMITMENT: Final = _either(
    _words(r"discounts?|vouchers?|coupons?|gift cards?|promo(?:tional)? codes?|bonus|loyalty points?"),
    _words(r"goodwill", r"compensat(?:e|es|ed|ion)", r"free of charge", r"free (?:shipping|gift|month|year)"),
    _words(r"store credits?", r"credits?(?! ?-?(?:cards?|or debit))", r"waive[sd]?"),
    _words(r"liab(?:le|ility)", r"legal(?:ly)?", r"lawsuit", r"exception to (?:our|the) policy"),
)

SENSITIVE_REQUEST: Final = _either(
    _words(r"passwords?|passcodes?|cvv2?|cvc2?|security codes?|pin (?:code|number)|otp|credentials?"),
    _words(r"one-time (?:code|password|passcode)", r"log ?in details", r"mother's maiden", r"passport"),
    _words(
        r"card (?:number|details|expiry)", r"expiry date", r"account (?:number|details)", r"routing number"
    ),
    _words(r"social security", r"date of birth"),
    _words(r"(?:e-?mail|postal|home|billing|shipping) address(?:es)?"),
    _words(r"(?:changed|updated|reset|closed|deleted|unlocked|disabled) your (?:account|e-?mail|profile)"),
    _words(r"your account (?:has been|was|is now|will be)"),
)

FIELD_NAME: Final = re.compile(
    _words("allowed_actions", "customer_text", "reason_code", "recommended_action", "requires_human_review")
)

INSTRUCTION: Final = _either(
    r"\b(?:ignore|disregard|forget|override|bypass)(?: \w{1,12}){0,4} "
    r"(?:instructions?|rules?|polic(?:y|ies)|prompts?|guidelines?|checks?|limits?|above|previous)\b",
    _words(r"system (?:prompt|message|instructions?)", r"my (?:instructions|prompt|guidelines)"),
    _words(r"as an ai", r"(?:large )?language model", r"developer mode", r"jailbreak\w{0,4}"),
    r"<\|?/?(?:im_start|im_end|system|user|assistant|tool)|\[/?inst\]",
    r"(?:^|[.!?] ?)(?:system|assistant|user|observation|thought|action|tool|function)\s?:",
    _words(r"(?:tool|function)[ _]calls?"),
    _words(r"begin (?:system|customer|prompt)", r"sql", r"(?:drop|delete|insert|update) (?:table|from|into)"),
)
