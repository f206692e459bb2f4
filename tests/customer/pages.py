"""How a page reads to people and to machines."""

import re
from html import unescape


def text_of(response):
    """Return the visible text of a page's main part, on one line."""
    main = response.content.decode().partition("<main")[2].partition(">")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def token_of(response):
    """Return the one-time token of the form on a page."""
    return re.search(r'name="client_token" value="([^"]+)"', response.content.decode()).group(1)
