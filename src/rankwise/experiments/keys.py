"""How a configuration file spells what the library's messages name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rankwise.errors import RankwiseError
from rankwise.experiments.schema import section_of
from rankwise.messages import Parameter, Reference


def spell_as_key(named: Parameter | Reference, within: str | None = None) -> str:
    """Return a parameter, or those of a function, as keys in their section of a file.

    What no section has is spelled as in Python. A message about the section ``within`` means the
    keys of that section.

    >>> spell_as_key(Parameter("duplicates", '"first"')), spell_as_key(Parameter("train", ""))
    ('evaluation: {duplicates: first}', 'data: {train: …}')
    >>> spell_as_key(Parameter("same_users", "False"), within="launches")
    'launches: {same_users: false}'
    """
    if isinstance(named, Reference):
        keys = [spell_as_key(parameter, within) for parameter in named.given]
        return " and ".join(keys) or str(named)
    section = section_of(named.name, within)
    if section is None:
        return str(named)
    if named.source is None:
        return f"{section}.{named.name}"
    return f"{section}: {{{named.name}: {_flow(named.value) if named.source else '…'}}}"


def spell_beside_path(named: Parameter | Reference, path: str, role: str) -> str:
    """Return the columns of one file beside its path, and other parameters as their keys.

    >>> columns = Parameter("columns", "{'recommendations.user': 'uid'}")
    >>> spell_beside_path(columns, "near.csv", "recommendations")
    '{path: near.csv, columns: {user: uid}}'
    """
    columns = named.value if isinstance(named, Parameter) and named.name == "columns" else None
    own = f"{role}."
    if not isinstance(columns, dict) or not all(key.startswith(own) for key in columns):
        return spell_as_key(named)
    return _flow({"path": path, "columns": {k.removeprefix(own): v for k, v in columns.items()}})


@contextmanager
def spelling_keys(section: str) -> Iterator[None]:
    """Spell what errors inside name as the keys of a section."""
    with _spelling(partial(spell_as_key, within=section)):
        yield


@contextmanager
def spelling_columns(path: str, role: str) -> Iterator[None]:
    """Spell columns that errors inside name beside the path of their file."""
    with _spelling(partial(spell_beside_path, path=path, role=role)):
        yield


@contextmanager
def _spelling(spell: Callable[[Parameter | Reference], str]) -> Iterator[None]:
    try:
        yield
    except RankwiseError as error:
        raise error.spelled(spell) from error


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
