"""Labels of cells, the values of a measure for groups: ``item_group=a``, written and read here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

__all__ = ["cells_of_items", "label", "read_label"]


def label(**groups: str) -> str:
    """Write the label of a cell.

    >>> label(user_group="a", item_group="science fiction")
    'user_group=a,item_group=science fiction'
    >>> label(item_group="a,b")
    'item_group="a,b"'
    """
    return ",".join(f"{axis}={_quoted(name)}" for axis, name in groups.items())


def read_label(text: str) -> dict[str, str]:
    """Read a label that `label` wrote.

    >>> read_label('user_group=a,item_group="b,c"')
    {'user_group': 'a', 'item_group': 'b,c'}
    """
    found = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]*)', text)
    return {axis: json.loads(name) if name.startswith('"') else name for axis, name in found}


def _quoted(name: str) -> str:
    odd = any(sign in name for sign in '[]=,"\\#') or not name.isprintable() or name != name.strip()
    return json.dumps(name, ensure_ascii=False) if odd or not name else name


def cells_of_items(names: tuple[str, ...], values: Iterable[float]) -> dict[str, float]:
    """Return a cell for each group of items."""
    return {label(item_group=name): float(value) for name, value in zip(names, values, strict=True)}
