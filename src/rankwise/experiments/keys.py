"""How a configuration file spells what the library's messages name."""

from __future__ import annotations

import json
import re

from rankwise.experiments.schema import section_of
from rankwise.messages import Parameter, Reference


def spell_as_key(named: Parameter | Reference) -> str:
    """Return a parameter, or those of a function, as keys in their section of a file.

    What no section has is spelled as in Python.

    >>> spell_as_key(Parameter("duplicates", '"first"')), spell_as_key(Parameter("train", ""))
    ('evaluation: {duplicates: first}', 'data: {train: …}')
    """
    if isinstance(named, Reference):
        keys = [spell_as_key(parameter) for parameter in named.given]
        return " and ".join(keys) or str(named)
    section = section_of(named.name)
    if section is None:
        return str(named)
    if named.source is None:
        return f"{section}.{named.name}"
    return f"{section}: {{{named.name}: {_flow(named.value) if named.source else '…'}}}"


def _flow(value: object) -> str:
    """Return a value in YAML, in one line.

    >>> _flow({"user": "uid", "rank": None, "format": "%Y", "k": [5, True]})
    '{user: uid, rank: null, format: "%Y", k: [5, true]}'
    """
    match value:
        case dict():
            return f"{{{', '.join(f'{_flow(key)}: {_flow(each)}' for key, each in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            is_plain = re.fullmatch(r"[^\W_][\w.:@%+-]*|…", value)
            return value if is_plain else json.dumps(value, ensure_ascii=False)
        case bool() | int() | float() | None:
            return json.dumps(value)
        case _:
            return str(value)
