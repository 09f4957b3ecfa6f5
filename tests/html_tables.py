"""Reads the tables that a notebook shows, and refuses markup that displays do not write."""

from __future__ import annotations

from html.parser import HTMLParser

TAGS = frozenset(
    ["table", "thead", "tbody", "tr", "th", "td", "p", "small", "sup", "b", "u", "div"]
)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables, self.texts, self.scopes, self._open = [], [], [], []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, f"foreign text became the tag {tag}"
        assert {name for name, _ in attributes} <= {"style", "scope"}
        assert "color" not in dict(attributes).get("style", "")  # notebooks are dark or light
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
            if tag == "th":
                self.scopes.append(dict(attributes)["scope"])
        elif tag == "p":
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if {"th", "td"} & set(self._open):
            self.tables[-1][-1][-1] += data
        elif "p" in self._open:
            self.texts[-1] += data

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = handle_comment


def read_html(html):
    """Return the tables, as rows of stripped cells, and the paragraphs around them."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader._open
    for table in reader.tables:
        assert len({len(row) for row in table}) == 1
    heads = sum(len(table[0]) + len(table) - 1 for table in reader.tables)
    assert len(reader.scopes) == heads  # of every column and every row
    tables = [[[cell.strip() for cell in row] for row in table] for table in reader.tables]
    return tables, reader.texts
