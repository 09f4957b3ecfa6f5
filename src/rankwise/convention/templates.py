"""Names that libraries write with numbers in them: ``ndcg@5-``, ``NDCG:top=5;type=Exp``.

The notation of a convention puts a word in braces where a number stands: ``{k}`` for the cut-off,
or the name of a parameter of the metric.

>>> template_of("precision_at_k({k})").values_in("Precision_at_k(10)")
{'k': '10'}
>>> template_of("NDCG:top={k};type=Exp").values_in("NDCG:type=Exp")
{}
>>> template_of("NDCG:top={k};type=Exp").values_in("NDCG:top=5;type=Base") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

_CALL = re.compile(r"(\w+)(?::([^()]*=[^()]*)|\(([^()]*=[^()]*)\))")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


class Template(Protocol):
    """A name with placeholders."""

    def values_in(self, text: str) -> dict[str, str] | None:
        """Return the numbers of a text by placeholder; None if the text is another name."""


def is_template(name: str) -> bool:
    """Whether a name is not a plain word, so that punctuation in it counts.

    >>> is_template("ndcg"), is_template("ndcg-"), is_template("NDCG:type=Exp")
    (False, True, True)
    """
    return "{" in name or re.search(r"-(\s|$)|:\w+=", name) is not None


def template_of(name: str) -> Template:
    """Return the template of a name."""
    call = _read_call(name)
    if call is not None:
        return _Call(*call)
    parts = _PLACEHOLDER.split(name)
    groups = [
        f"(?P<{part}>{_NUMBER})" if at % 2 else _escape(part) for at, part in enumerate(parts)
    ]
    return _Pattern(re.compile("".join(groups), re.IGNORECASE))


def _escape(text: str) -> str:
    """Return the pattern of a text in which blanks and underscores do not matter."""
    return "".join(r"[\s_]*" if letter in " _" else re.escape(letter) for letter in text)


@dataclass(frozen=True)
class _Pattern:
    """A name with numbers at fixed places."""

    pattern: re.Pattern[str]

    def values_in(self, text: str) -> dict[str, str] | None:
        match = self.pattern.fullmatch(text.strip())
        return None if match is None else match.groupdict()


@dataclass(frozen=True)
class _Call:
    """A name with options in any order, each of which may be left out."""

    base: str
    options: Mapping[str, str]

    def values_in(self, text: str) -> dict[str, str] | None:
        base, given = _read_call(text) or (text.strip(), {})
        if base.lower() != self.base.lower() or not given.keys() <= self.options.keys():
            return None
        numbers = {}
        for option, value in given.items():
            placeholder = _PLACEHOLDER.fullmatch(self.options[option])
            if placeholder is not None and re.fullmatch(_NUMBER, value):
                numbers[placeholder[1]] = value
            elif value.lower() != self.options[option].lower():
                return None
        return numbers


def _read_call(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name and the options of a text that has options; None for any other text.

    They are written ``name:option=value;…`` or ``name(option=value,…)``.
    """
    match = _CALL.fullmatch(text.strip())
    if match is None:
        return None
    pairs = (pair.partition("=") for pair in re.split("[;,]", match[2] or match[3]))
    return match[1], {name.strip().lower(): value.strip() for name, _, value in pairs}
