"""What of a page or a fragment could act, as a browser reads it. For tests of all that shows a student's text."""

from __future__ import annotations

from html.parser import HTMLParser

LIVE_TAGS = frozenset(
    (
        *("script", "iframe", "frame", "object", "embed", "applet", "form", "input", "button", "link", "base", "meta"),
        *("svg", "math", "template", "style"),
    )
)
URLS = frozenset(("href", "src", "action", "formaction", "data", "srcset", "xlink:href", "background", "poster"))
VOID = frozenset(("br", "hr", "img", "meta", "link", "input"))
# Payloads for whatever text a stranger decides on: a name, an answer, a line of code.
EVIL = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>'><svg/onload=alert(3)>",
    "</pre></span></td></table></style></title><iframe src=javascript:alert(4)>",
    "[x](javascript:alert(5)) <a href=\"javascript:alert(6)\" onclick='x'>y</a>",
    "&lt;script&gt;alert(7)&lt;/script&gt; {{ 7*7 }} {% include 'x' %}",
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\x00",
)


class Markup(HTMLParser):
    """The tags of a document with their attributes, its text, and what of it is ``live``."""

    def __init__(self, text: str, own: frozenset[str] = frozenset()) -> None:
        """``own`` are live tags that the page has of its own."""
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.live: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self._own = own
        self.feed(text)
        self.close()
        if self.open:
            self.live.append(f"not closed: {self.open}")

    @property
    def text(self) -> str:
        return "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag in LIVE_TAGS - self._own:
            self.live.append(f"<{tag} {attributes}>")
        for name, value in attributes.items():
            url = "".join(value.split()).lower()
            if name.startswith("on") or name == "style":
                self.live.append(f"{name}={value}")
            if name in URLS and not url.startswith("#"):
                self.live.append(f"{name}={value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.live.append(f"</{tag}> out of place")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.live.append(f"comment {data}")

    def unknown_decl(self, data: str) -> None:
        self.live.append(f"declaration {data}")

    def handle_pi(self, data: str) -> None:
        self.live.append(f"instruction {data}")
