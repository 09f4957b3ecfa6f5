"""How tables are to be read, said once more in plain Python: ids, and whether they can match.

An id of text is the text itself, without the blanks around it if it stood in a file of text. Columns
of such files are integers if every id is written as integers are, unless the other table has text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace() and not "\x1c" <= c <= "\x1f")
"""What Unicode calls white space; Python adds four separators of records."""


class NoMeaningError(Exception):
    """The tables mean nothing together: an error of rankwise is right, and a number is wrong."""


@dataclass(frozen=True)
class Reading:
    """What a container makes of a table: rows of (user, item, number), in the order of rows."""

    rows: list
    is_text: bool
    has_numbers: bool = False
    """Whether whole numbers are written in another way than text, as in JSON."""

    def ids(self, column):
        """Return the ids of a column, and whether they are integers."""
        ids = [row[column] for row in self.rows]
        if self.has_numbers and not all(map(_fits, ids)):
            raise NoMeaningError("an integer has more than 64 bits")
        if self.is_text:
            given, ids = ids, [str(one).strip(BLANKS) for one in ids]
            if "" in ids or len(set(ids)) < len(set(map(str, given))):
                raise NoMeaningError("two ids differ by blanks alone, or an id is nothing else")
            whole = all(map(_is_whole, ids))
            return ([int(one) for one in ids] if whole else ids), whole
        kinds = {type(one) for one in ids}
        if kinds == {int} and all(map(_fits, ids)):
            return ids, True
        if kinds == {str}:
            return ids, False
        raise NoMeaningError("ids are integers of 64 bits, or text")


def _is_whole(text):
    return bool(re.fullmatch("0|-?[1-9][0-9]*", text)) and _fits(int(text))


def _fits(one):
    return isinstance(one, str) or -(2**63) <= one < 2**63


def matched(lists, truth):
    """Return two readings as ``{user: [(item, number)]}``, with ids that can be compared."""
    columns = []
    for column in (0, 1):
        (left, left_whole), (right, right_whole) = lists.ids(column), truth.ids(column)
        if left_whole != right_whole:
            if not (lists if left_whole else truth).is_text:
                raise NoMeaningError("integers in one table, text in the other")
            left, right = list(map(str, left)), list(map(str, right))
        columns.append((left, right))
    return [
        _by_user(zip(*ids, (row[2] for row in table.rows), strict=True))
        for table, ids in zip((lists, truth), zip(*columns, strict=True), strict=True)
    ]


def _by_user(rows):
    own = {}
    for user, item, number in rows:
        own.setdefault(user, []).append((item, float(number)))
    return own


def without_repeats(own, duplicates):
    """Return lists, or judgements, with the largest number of each item.

    Raises
    ------
    NoMeaningError
        If an item is repeated and ``duplicates`` is ``"error"``.
    """
    out = {}
    for user, pairs in own.items():
        best = {}
        for item, number in pairs:
            best[item] = max(number, best.get(item, number))
        if len(best) < len(pairs) and duplicates == "error":
            raise NoMeaningError("an item twice for one user")
        out[user] = best
    return out
