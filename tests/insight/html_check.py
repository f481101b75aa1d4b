"""A reader of pages: what a browser would fetch, and what a screen reader would say."""

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "source", "br", "hr"}


class Reader(HTMLParser):
    """Collects addresses, picture texts and headings; checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.alts: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.text = ""

    @classmethod
    def of(cls, html: str) -> "Reader":
        reader = cls()
        reader.feed(html)
        reader.close()
        assert reader.open == [], reader.open
        return reader

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), given
        self.addresses += [
            value
            for name, value in attrs
            if name in ("src", "srcset", "href", "action", "poster", "background", "data")
        ]
        if tag == "img":
            self.alts.append(given.get("alt") or "")
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] = (self.headings[-1][0], self.headings[-1][1] + data)
        if "style" not in self.open:
            self.text += data


def check_alone(html: str) -> Reader:
    """The page fetches nothing, runs nothing, and says every picture in words."""
    reader = Reader.of(html)
    assert all(address.startswith("data:") for address in reader.addresses)
    assert not {"script", "iframe", "object", "embed", "base"} & set(reader.tags)
    assert "@import" not in html
    assert "url(" not in html
    assert "http-equiv" in html
    assert "default-src 'none'" in html
    assert all(len(alt) > 20 for alt in reader.alts)
    assert [tag for tag, _ in reader.headings].count("h1") == 1
    return reader
