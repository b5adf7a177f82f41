"""A parser of reports for the tests."""

from __future__ import annotations

from html.parser import HTMLParser

EMPTY = {"br", "img", "meta"}


class Page(HTMLParser):
    """The elements of a page with their text; fails if tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self._open = []
        self.feed(text)
        self.close()
        assert self._open == [], "elements without an end"

    def handle_starttag(self, name, attributes):
        assert len({key for key, _ in attributes}) == len(attributes), attributes
        element = {"name": name, "attributes": dict(attributes), "text": ""}
        self.elements.append(element)
        self._place(element)
        if name not in EMPTY:
            self._open.append(element)

    def _place(self, element):
        """Add rows and cells to their table."""
        if element["name"] == "table":
            element["rows"] = []
        tables = [each for each in self._open if each["name"] == "table"]
        if element["name"] == "tr":
            tables[-1]["rows"].append([])
        elif element["name"] in ("td", "th"):
            tables[-1]["rows"][-1].append(element)

    def handle_endtag(self, name):
        assert self._open, f"</{name}> without a beginning"
        assert self._open.pop()["name"] == name

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, name, **wanted):
        """Return the elements of a name with the given attributes; `class_` matches one class."""
        found = [each for each in self.elements if each["name"] == name]
        for key, value in wanted.items():
            key = key.rstrip("_").replace("_", "-")
            found = [each for each in found if value in each["attributes"].get(key, "").split()]
        return found

    def values(self, key):
        return [e["attributes"][key] for e in self.elements if key in e["attributes"]]

    @property
    def text(self):
        return self.all("body")[0]["text"]
