"""The corpus: what must vanish and what must stay. Tokens are put together here, so that no scanner takes one for live.

Card numbers are the published test numbers, bank accounts the examples of the IBAN registry, telephone numbers of the
ranges kept for drama, addresses of reserved domains; everything else is invented.
"""

import base64
import html
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

FOLDER = Path(__file__).parent / "corpus"


def _part(members):
    return base64.urlsafe_b64encode(json.dumps(members).encode()).decode().rstrip("=")


_JWT_HEAD, _JWT_BODY = _part({"alg": "HS256", "typ": "JWT"}), _part({"sub": "invented", "name": "kettle"})
_PEM_BODY = "\n".join(["KettleKettle0000" * 4] * 3)
_BUILT = {
    "jwt": f"{_JWT_HEAD}.{_JWT_BODY}.{'kettle' * 7}",
    "jwt_head": _JWT_HEAD,
    "jwt_body": _JWT_BODY,
    "stripe_live": "sk" + "_live_" + "Kettle00" * 3,
    "stripe_test": "sk" + "_test_" + "Kettle01" * 3,
    "stripe_restricted": "rk" + "_live_" + "Kettle02" * 3,
    "webhook": "whsec" + "_" + "Kettle03" * 4,
    "model_key": "sk" + "-proj-" + "Kettle04" * 5,
    "git_key": "gh" + "p_" + "Kettle05" * 5,
    "git_key_2": "github" + "_pat_" + "Kettle06" * 5,
    "git_key_3": "gl" + "pat-" + "Kettle07" * 3,
    "cloud_key": "AK" + "IA" + "KETTLE08" * 2,
    "chat_key": "xox" + "b-" + "0000000000-" + "Kettle09" * 3,
    "maps_key": "AI" + "za" + "Kettle10" * 4,
    "mail_key": "S" + "G." + "Kettle11" * 3 + "." + "Kettle12" * 4,
    "package_key": "npm" + "_" + "Kettle13" * 5,
    "shop_key": "shp" + "at_" + "0123abcd" * 4,
    "pem": f"-----BEGIN {'RSA'} PRIVATE KEY-----\n{_PEM_BODY}\n-----END {'RSA'} PRIVATE KEY-----",
    "pem_body": _PEM_BODY,
}


@dataclass(frozen=True)
class Must:
    """One text, and what of it must be nowhere."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def _filled(text):
    for name, value in _BUILT.items():
        text = text.replace(f"<<{name}>>", value)
    return text


def _rows(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


MUST = [Must(row["kind"], _filled(row["text"]), tuple(map(_filled, row["secrets"]))) for row in _rows("must")]
LOOK_ALIKES = [row["text"] for row in _rows("look_alikes")]


def forms_of(secret):
    """Return a secret as it stands in a text, in JSON, in an address and in a page."""
    return {
        secret,
        secret.replace("\r\n", "\n"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret),
        html.escape(secret),
    }


def leaks(rows, *texts):
    """Return what of the rows stands anywhere in the texts, as pairs of kind and secret."""
    return [
        (row.kind, secret)
        for row in rows
        for secret in row.secrets
        if any(form in text for form in forms_of(secret) for text in texts)
    ]
