"""Formulas of LaTeX and paragraphs of reStructuredText as plain text."""

from __future__ import annotations

import re

_SIGN = r"\\[A-Za-z]+|\\.|\s+|\w(?<!_)|."
_SYMBOLS = {
    "sum": "Σ",
    "prod": "Π",
    "in": "∈",
    "cap": "∩",
    "cup": "∪",
    "bigcup": "∪",
    "setminus": "∖",
    "emptyset": "∅",
    "le": "≤",
    "ge": "≥",
    "neq": "≠",
    "cdot": "·",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "left": "",
    "right": "",
    "quad": "\n",
    ",": " ",
    ";": " ",
}
_ACCENTS = {"hat": "\u0302", "bar": "\u0304"}
_OPEN, _CLOSED, _BARS = "([{", ")]}", "|"
_FACTOR = "\x00"  # stands behind a fraction, until what follows it is known


def plain_text(text: str) -> str:
    r"""Return a paragraph without the marks of reStructuredText.

    >>> plain_text(r'``"full"`` fills :math:`2^{rel} - 1`, min(k, \|R_u\|)')
    '"full" fills 2^rel - 1, min(k, |R_u|)'
    """
    text = re.sub(r":math:`([^`]*)`", lambda match: plain_formula(match[1]), text)
    return re.sub(r"\\([|*_`])", r"\1", text.replace("`", ""))


def plain_formula(latex: str) -> str:
    r"""Return a formula of LaTeX as plain text; a command that is not known becomes its name.

    What ``\quad`` keeps apart goes on lines of its own.

    >>> plain_formula(r"\frac{1}{k} \sum_{i \le k} \frac{g_i - 1}{n_{ui}}")
    '1/k · Σ_(i ≤ k) (g_i - 1)/n_ui'
    """
    text = _sequence(re.findall(_SIGN, " ".join(latex.split()))[::-1])
    text = re.sub(rf"{_FACTOR}\s*(?=[^\W_]|[√ΣΠ(|\[{{])", " · ", text).replace(_FACTOR, "")
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _sequence(signs: list[str]) -> str:
    """Return the text up to the end of a group; signs are taken from the end of the list."""
    text = ""
    while signs and (sign := signs.pop()) != "}":
        text += _term(sign, signs, text)
    return text


def _term(sign: str, signs: list[str], before: str) -> str:
    name = sign.removeprefix("\\")
    if sign == "{":
        return _sequence(signs)
    if sign in "_^":
        script = _argument(signs)
        bare = re.fullmatch(r"\w+|[-+]|\|[^|]*\||", script)
        return f"{sign}{script}" if bare else f"{sign}({script})"
    if sign == r"\frac":
        fraction = f"{_grouped(_argument(signs))}/{_grouped(_argument(signs))}"
        applied = re.search(r"(log(_\w+)?|ln) ?$", before)
        return f"({fraction})" if applied else fraction + _FACTOR
    if sign == r"\sqrt":
        return f"√({_argument(signs)})"
    if sign in (r"\text", r"\mathrm"):
        return _argument(signs)
    if name in _ACCENTS and name != sign:
        return _argument(signs) + _ACCENTS[name]
    return _SYMBOLS.get(name, name) if name != sign else sign


def _argument(signs: list[str]) -> str:
    """Return the text of the next group, or of the next sign if there is none."""
    while signs and signs[-1].isspace():
        signs.pop()
    return _term(signs.pop(), signs, "") if signs else ""


def _grouped(text: str) -> str:
    """Return a part of a fraction, in parentheses if there is more than one factor."""
    depth, bars = 0, 0
    for sign in text:
        depth += (sign in _OPEN) - (sign in _CLOSED)
        bars ^= sign == _BARS
        if sign in " /" and not depth and not bars:
            return f"({text})"
    return text
