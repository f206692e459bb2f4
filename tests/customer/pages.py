"""How a page reads to people and to machines."""

import re
from html import unescape
from html.parser import HTMLParser


def text_of(response):
    """Return the visible text of a page's main part, on one line; of a part of a page, all of it."""
    html = response.content.decode()
    main = html.partition("<main")[2].partition(">")[2].partition("</main>")[0] or html
    main = re.sub(r"<template.*?</template>", "", main, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def token_of(response):
    """Return the one-time token of the form on a page."""
    return re.search(r'name="client_token" value="([^"]+)"', response.content.decode()).group(1)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the words inside scripts."""

    def __init__(self, response):
        super().__init__()
        self.found, self.script, self._inside = [], "", ""
        self.feed(response.content.decode())

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, _tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.script += data.strip()

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]

    def buttons(self):
        """Return the addresses of the forms on the page, those of GET with a question mark."""
        return [form["action"] + ("?" if form.get("method") == "get" else "") for form in self.all("form")]

    def fields(self):
        """Return what a browser would send with the hidden and the checked inputs, without the CSRF token."""
        return {
            field["name"]: field.get("value", "")
            for field in self.all("input")
            if field["type"] == "hidden" or "checked" in field
            if field["name"] != "csrfmiddlewaretoken"
        }
