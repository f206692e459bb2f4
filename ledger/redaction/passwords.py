"""Finds passwords, PINs and one-time codes where words say that they are one, in many languages. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from ledger.redaction.credentials import NOT_MASKED, QUOTED, SEPARATOR
from ledger.redaction.kinds import Kind, Span

# As members of data and in addresses: password=..., "new_password1": "...".
_MEMBER: Final = re.compile(
    r"(?:pass(?:word|wd|code|phrase)[0-9]?|pwd|(?<![a-z])pw|(?<![a-z])pass)"
    rf"{SEPARATOR}(?P<value>{NOT_MASKED}(?!pass\w{{0,8}}\s{{0,3}}[=:])(?(quote){QUOTED}|[^\s,;&\"'<>}}\])]++))",
    re.IGNORECASE,
)
_CALLED: Final = "|".join(
    (
        *("pass ?(?:word|code|phrase)", "passwort", "kennwort", "mot de passe", "mdp", "contrase[ñn]a"),
        *("clave(?: de acceso)?", "senha", "palavra-passe", "wachtwoord", "has[łl]o", "parola", "[şs]ifre"),
        *(
            "salasana",
            "l[öo]senord",
            "adgangskode",
            "passord",
            "heslo",
            "jelsz[óo]",
            "κωδικός",
            r"парол[ья]\w?",
        ),
        *("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "كلمة (?:المرور|السر)", "סיסמ[הא]"),
        *("पासवर्ड", "รหัสผ่าน", "mật khẩu", "kata sandi"),
    )
)
_VERBS: Final = "is|was|ist|lautet|war|est|es|era|è|é|jest|to|[äæ]r|er|on|je|это|هي|הוא|היא|है|คือ|là|adalah"
_JOINT: Final = (
    r"(?:\s{0,3}(?:[:=]|->|=>)\s{0,3}|\s{1,3}"
    rf"(?:{_VERBS})\s{{1,3}}|\s{{0,2}}(?:は|が|是|为|為|는|은)\s{{0,2}}:?\s{{0,2}})"
)
# After "my password is" these are none; somebody whose password is one of them keeps it.
_OTHER_WORDS: Final = "|".join(
    (
        *(
            "not",
            "no",
            "now",
            "never",
            "wrong",
            "right",
            "fine",
            "ok",
            "okay",
            "correct",
            "incorrect",
            "invalid",
        ),
        *(
            "expired",
            "required",
            "missing",
            "lost",
            "gone",
            "too",
            "so",
            "still",
            "already",
            "also",
            "being",
            "been",
        ),
        *(
            "the",
            "a",
            "an",
            "my",
            "your",
            "our",
            "this",
            "that",
            "it",
            "i",
            "in",
            "on",
            "of",
            "at",
            "for",
            "to",
        ),
        *(
            "by",
            "with",
            "and",
            "or",
            "but",
            "very",
            "always",
            "unknown",
            "secret",
            "safe",
            "secure",
            "strong",
        ),
        *("weak", "long", "short", "blocked", "locked", "reset", "changed", "set", "sent", "stored", "asked"),
        *(
            "needed",
            "working",
            "what",
            "where",
            "why",
            "how",
            "none",
            "null",
            "true",
            "false",
            "empty",
            "hidden",
        ),
        *(
            "protected",
            "falsch",
            "richtig",
            "nicht",
            "zu",
            "abgelaufen",
            "gesperrt",
            "vergessen",
            "das",
            "die",
        ),
        *("der", "ein", "kein", "leider", "immer", "pas", "faux", "fausse", "expir[ée]e?", "bloqu[ée]e?"),
        *(
            "oubli[ée]e?",
            "le",
            "la",
            "un",
            "une",
            "trop",
            "toujours",
            "incorrecte?",
            "incorrect[ao]",
            "correct[ao]",
        ),
        *("muy", "demasiado", "el", "una", "mi", "sa", "errata", "sbagliata", "errada", "inv[áa]lida", "не"),
        *("неверный", "неправильный", "правильный", "забыл", "забыт", "просрочен"),
    )
)
_SOMETHING_ELSE: Final = rf"(?!(?:{_OTHER_WORDS})(?![\w@$!#%&*\-]))"
# Words of scripts without spaces between words may follow each other.
_BEGINS: Final = r"(?<![^\W\d_\u3040-\uffff])"
_SAID: Final = re.compile(
    rf"{_BEGINS}(?:{_CALLED}){_JOINT}(?>(?P<quote>[\"'`])?)(?P<value>{NOT_MASKED}{_SOMETHING_ELSE}"
    r"(?(quote)(?>(?:(?!(?P=quote))[^\r\n])+)|(?:[!-~]++|[^\s,。、]{1,200}+)))",
    re.IGNORECASE,
)
# Letters and digits, and long enough: what a word of any language is not.
_LIKE_ONE: Final = rf"(?P<value>{NOT_MASKED}(?!removed\])(?=[!-~]*[0-9])(?=[!-~]*[A-Za-z])[!-~]{{6,}}+)"
# "password hunter2": nothing joins them, so it has to look like one.
_APART: Final = re.compile(
    rf"{_BEGINS}(?:{_CALLED})\s{{1,3}}{_LIKE_ONE}",
    re.IGNORECASE,
)
# "my pass is hunter2": a pass may be anything else, so this has to look like one as well.
_SHORT: Final = re.compile(
    r"(?<![^\W\d_])(?:my|your|the|new|old|user|and) (?:pass|pw)(?: (?:is|was|=))?:?\s{1,2}"
    rf"{_LIKE_ONE}",
    re.IGNORECASE,
)
# "hunter2 is my password"
_BEFORE: Final = re.compile(
    rf"(?<!\S)[\"'`]?(?P<value>(?=[!-~]{{0,60}}[0-9])(?=[!-~]{{0,60}}[A-Za-z])[!-~]{{5,60}}) (?:is|was|ist|es|est) "
    rf"(?:my|the|mein|mi|mon|meine)(?: (?:old|new|current|login))? (?:{_CALLED})(?![^\W\d_])",
    re.IGNORECASE,
)
_TAGGED: Final = re.compile(
    rf"<(?:[\w\-]{{1,20}}[:_\-])?(?:password|passwd|pwd|passcode)>(?P<value>{NOT_MASKED}[^<\r\n]{{1,200}}+)</",
    re.IGNORECASE,
)
_PHRASE: Final = re.compile(
    r"\b(?:passphrase|(?:seed|recovery) (?:phrase|words))\s{0,2}(?:is|was|are|[:=])\s{1,2}"
    rf"(?P<value>{NOT_MASKED}{_SOMETHING_ELSE}[^\r\n.]++)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"(?<![^\W\d_])(?:pin(?:[ \-]?(?:code|number|nummer))?|geheimzahl|nip|otp|tan"
    r"|(?:one[ \-]time|verification|login|2fa|sms|tan|auth(?:entication)?) (?:pass)?code)"
    r"(?:\s(?:of|for|von|de|du|der)(?:\s[^\W\d_]{1,12}){1,3}\s{0,2}(?:is|was|ist|est|es|:|=)"
    r"|\s?(?:is|was|ist|lautet|est|es|:|=|#)"
    r"|(?=\s[0-9]{4}(?![0-9]|[ \-./][0-9])))"
    r"[\s:\"']{0,4}(?P<value>[0-9]{2,4}[ \-][0-9]{2,4}(?![0-9 \-])|[0-9]{4,8})(?![0-9])",
    re.IGNORECASE,
)
# Once only, but good until it is used; longer than what a year or an amount looks like.
_SENT: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:otp|(?:one[ \-]time|verification|login|2fa|sms|authentication) (?:pass)?code)\s{1,2}"
    r"|code (?:that )?(?:you|your bank|the bank) (?:sent|texted)(?: to)?(?: me)? (?:is|was)?\s{0,2})"
    r"(?P<value>[0-9]{4,8})(?![0-9]|[.,\-/][0-9])",
    re.IGNORECASE,
)
_SENTENCE_ENDS: Final = ".,;:?)\"'"


def find_passwords(plain: str) -> Iterator[Span]:
    """Yield what is called a password, a PIN or a one-time code, without the signs that end the sentence."""
    for pattern in (_MEMBER, _SAID, _APART, _SHORT, _BEFORE, _TAGGED, _PHRASE, _CODE, _SENT):
        for match in pattern.finditer(plain):
            start, end = match.span("value")
            if not match.groupdict().get("quote"):
                end = start + (len(match["value"].rstrip(_SENTENCE_ENDS)) or end - start)
            yield Span(Kind.PASSWORD, start, end)
