"""Messages that name parameters, which every road spells in its own way.

Python says ``duplicates="first"``, the command line ``--duplicates first``, and a configuration
file ``evaluation: {duplicates: first}``. A sentence marks a parameter where it is written,
``f"keep one with {parameter('duplicates', 'first')}"``, and a `Message` knows its marks, so that
nobody has to find parameters in a text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = [
    "HIDDEN",
    "Message",
    "Parameter",
    "Reference",
    "call",
    "in_source",
    "marked",
    "mention",
    "parameter",
    "printable",
]

HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)
"""Characters that a terminal obeys or hides: controls, line ends, marks of direction, halves."""

# Two characters that no printed message has: `printable` blanks those of strangers.
_BEGIN, _END = "\x02", "\x03"
_LONGEST = 200  # characters of a value
_MARK = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_MARK_OR_HIDDEN = re.compile(f"{_MARK.pattern}|{HIDDEN}")


@dataclass(frozen=True)
class Parameter:
    """A parameter that a message names.

    Attributes
    ----------
    name : str
        The name in Python.
    source : str or None
        The value as Python writes it; empty if it is the reader's to choose, and None if only the
        name stands in the sentence, as in "``exclude_seen`` needs training interactions".
    """

    name: str
    source: str | None

    @property
    def value(self) -> object:
        """The value, or its source if it is not a literal, as a date or a function is not."""
        try:
            value: object = ast.literal_eval(self.source or "")
        except (ValueError, SyntaxError):
            return self.source
        return value

    def __str__(self) -> str:
        return self.name if self.source is None else f"{self.name}={self.source}"


@dataclass(frozen=True)
class Reference:
    """A public function that a message names, with the parameters to pass."""

    function: str
    given: tuple[Parameter, ...]

    def __str__(self) -> str:
        given = ", ".join(["…", *map(str, self.given)])
        return f"rankwise.{self.function}" + (f"({given})" if self.given else "")


class Message(str):
    """A text whose parameters are spelled as in Python, and can be spelled as elsewhere.

    Examples
    --------
    >>> message = Message(f"pass {parameter('train')}, or {parameter('by', ['a', 'b'])}")
    >>> message
    'pass train=, or by=["a", "b"]'
    >>> [each.value for each in message.parameters]
    ['', ['a', 'b']]
    >>> message.spelled(lambda named: f"--{named.name}")
    'pass --train, or --by'
    """

    __slots__ = ("_marked",)

    _marked: str

    def __new__(cls, text: str) -> Message:
        """Read the marks of a text; a message stays as it is."""
        if isinstance(text, Message):
            return text
        plain = _MARK.sub(r"\1", text)
        made = super().__new__(cls, plain.replace(_BEGIN, " ").replace(_END, " "))
        made._marked = text
        return made

    def __getnewargs__(self) -> tuple[str]:
        return (self._marked,)

    @property
    def marked(self) -> str:
        """The text with its marks, as a part of a longer message."""
        return self._marked

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the message names in turn, those of functions included."""
        named = (_read(mark[1]) for mark in _MARK.finditer(self._marked))
        given = (each.given if isinstance(each, Reference) else (each,) for each in named)
        return tuple(parameter for some in given for parameter in some)

    def spelled(self, spell: Callable[[Parameter | Reference], str]) -> Message:
        """Return the message with what it names as a road spells it."""
        return Message(_MARK.sub(lambda mark: spell(_read(mark[1])), self._marked))


def marked(text: str) -> str:
    """Return a text with its marks, as a part of a longer message."""
    return text.marked if isinstance(text, Message) else text


def parameter(name: str, value: object = ...) -> str:
    """Return a parameter as a part of a message; without a value, it is the reader's to choose.

    Examples
    --------
    >>> Message(f"write it with {parameter('format', 'csv')}, or pass {parameter('items')}")
    'write it with format="csv", or pass items='
    """
    source = "" if value is ... else in_source(value)
    if len(source) > _LONGEST:
        source = source[: _LONGEST - 1] + "…"
    return _marked(f"{name}={source}")


def mention(name: str) -> str:
    """Return the bare name of a parameter as a part of a message.

    Examples
    --------
    >>> Message(f"{mention('exclude_seen')} needs training interactions")
    'exclude_seen needs training interactions'
    """
    return _marked(name)


def call(function: str, **given: object) -> str:
    """Return a public function, with parameters to pass, as a part of a message.

    Examples
    --------
    >>> Message(f"{call('evaluate', jackknife=64)} computes it, and {call('compare')} reads it")
    'rankwise.evaluate(…, jackknife=64) computes it, and rankwise.compare reads it'
    """
    arguments = "".join(f", {name}={in_source(value)}" for name, value in given.items())
    return _marked(f"rankwise.{function}" + (f"(…{arguments})" if arguments else ""))


def in_source(value: object) -> str:
    """Return a value as Python writes it, text in double quotes.

    Examples
    --------
    >>> print(in_source({"user": "uid", "rank": None}), in_source(["a", 1.5]))
    {"user": "uid", "rank": None} ["a", 1.5]
    """
    if isinstance(value, str):
        source = repr(value)
        return f'"{source[1:-1]}"' if source[0] == "'" and '"' not in source else source
    if type(value) is dict:
        pairs = (f"{in_source(key)}: {in_source(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if type(value) is list:
        return f"[{', '.join(map(in_source, value))}]"
    return repr(value)


def printable(text: str) -> str:
    r"""Return foreign text, such as ids and paths, on one line and without hidden characters.

    Control characters, which terminals may execute, line ends, and marks that reverse the direction
    of text become blanks.

    >>> printable("a\n\x1b[31mb")
    'a  [31mb'
    """
    if isinstance(text, Message):
        return Message(
            _MARK_OR_HIDDEN.sub(lambda found: found[0] if found[1] else " ", text.marked)
        )
    return re.sub(HIDDEN, " ", text)


def _marked(source: str) -> str:
    return f"{_BEGIN}{source}{_END}"


def _read(source: str) -> Parameter | Reference:
    """Return what a mark names."""
    name, has_value, value = source.partition("=")
    if "." not in name:
        return Parameter(name, value if has_value else None)
    function, _, arguments = source.removeprefix("rankwise.").partition("(…, ")
    parsed = ast.parse(f"_({arguments or ')'}", mode="eval").body
    assert isinstance(parsed, ast.Call)  # as the function `call` wrote it
    given = (
        Parameter(str(each.arg), in_source(ast.literal_eval(each.value)))
        for each in parsed.keywords
    )
    return Reference(function, tuple(given))
