"""Docstrings in numpydoc's form: their sections, and what they say of parameters."""

from __future__ import annotations

import inspect
import re

_PARAMETER = re.compile(
    r"^(\w[\w, ]*?) : (.*?)(?:, default=.*|, optional)?\n((?:    .*\n?|\n(?=    ))*)", re.MULTILINE
)


def sections(documented: object) -> dict[str, str]:
    """Return the sections of a docstring by title; the prose above the first has an empty title."""
    text = inspect.cleandoc(documented.__doc__ or "")
    prose, *parts = re.split(r"\n+(?=[A-Z]\w+(?: \w+)?\n-{3,}\n)", text)
    titled = (part.split("\n", 2) for part in parts)
    return {"": prose} | {title: body for title, _, body in titled}


def documented_parameters(section: str) -> dict[str, tuple[str, str]]:
    r"""Return the type and the text of each parameter in a section of a docstring.

    >>> documented_parameters("k, n : int, default=1\n    Two numbers.")["n"]
    ('int', 'Two numbers.')
    """
    return {
        name.strip(): (kind, inspect.cleandoc(text))
        for names, kind, text in _PARAMETER.findall(section + "\n")
        for name in names.split(",")
    }


def parameter_texts(documented: object) -> dict[str, str]:
    """Return what a docstring says of each parameter, in one paragraph.

    >>> def scale(values, factor=1.0):
    ...     '''Scale values.
    ...
    ...     Parameters
    ...     ----------
    ...     values : list of float
    ...         What is scaled.
    ...     factor : float, default=1.0
    ...         By how much. A negative
    ...         one turns signs.
    ...     '''
    >>> parameter_texts(scale)["factor"]
    'By how much. A negative one turns signs.'
    """
    described = documented_parameters(sections(documented).get("Parameters", ""))
    return {name: " ".join(text.split()) for name, (_, text) in described.items()}


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without its full stop and the marks of code.

    >>> first_sentence("By default ``snips``, or ``sndr`` with predictions. More of it.")
    'By default snips, or sndr with predictions'
    """
    return text.partition(". ")[0].rstrip(".").replace("``", "").replace("`", "")
