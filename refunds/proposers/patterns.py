"""What links look like in free text; personal data and secrets are ``ledger.redaction``'s. Pure.

Every repetition is bounded, so that no text makes a pattern slow.
"""

import re
from typing import Final

_TOP_LEVEL_DOMAINS: Final = (
    "com|net|org|info|biz|io|co|app|dev|ai|gl|ly|xyz|top|online|site|shop|store|link|click|example|test|page|"
    "uk|de|fr|es|eu|ru|cn|ch|nl|pl|zip|mov"
)
LINK: Final = re.compile(
    r"[a-z][a-z0-9+.\-]{0,20}://|\bwww\."
    r"|\b(?:javascript|data|mailto|tel|vbscript|file):\S"
    rf"|\b[a-z0-9][a-z0-9\-]{{0,62}}\.(?:{_TOP_LEVEL_DOMAINS})\b"
    r"|\b\w{1,63} (?:dot|\(dot\)|\[dot\]) (?:com|net|org|io)\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b",
    re.IGNORECASE,
)
