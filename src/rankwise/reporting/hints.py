"""How to have the missing parts of a page computed: in Python, and as a command.

A hint stands in `Report.missing` and on the command line, which spells its options; the page has
the command, for readers who see nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from rankwise.messages import Message, parameter
from rankwise.tables.table import TableRole


def pass_hint(role: TableRole) -> str:
    """Return the hint to pass a table that cannot be read again."""
    return f"pass {parameter(role)}"


ASK_FOR_AUDIT = f"pass {parameter('audit', True)}"
ASK_FOR_CURVES = 'ask for "ndcg@[1,5,10,20]"'
ASK_FOR_COSTS = 'ask for "catalog_coverage@10", "gini@10" or "novelty@10"'
ASK_FOR_GROUPS = (
    f'ask for "group_gap(ndcg)@10" with {parameter("users")}, or "reo@10" with {parameter("items")}'
)
EVALUATE_ON_SPLIT = "evaluate on a Split, or on the folder that `rankwise split` wrote"

_COMMANDS: Mapping[str, str] = {
    pass_hint("recommendations"): "rankwise report … --recommendations NAME=FILE",
    pass_hint("truth"): "rankwise report … --truth FILE",
    pass_hint("train"): "rankwise report … --train FILE",
    pass_hint("items"): "rankwise report … --items FILE",
    ASK_FOR_AUDIT: "rankwise report … --audit",
    ASK_FOR_CURVES: "rankwise evaluate … -m 'ndcg@[1,5,10,20]'",
    ASK_FOR_COSTS: "rankwise evaluate … -m catalog_coverage@10 -m gini@10",
    ASK_FOR_GROUPS: "rankwise evaluate … -m 'group_gap(ndcg)@10' --users FILE",
    EVALUATE_ON_SPLIT: "rankwise evaluate LISTS SPLIT",
}
COMMANDS: Mapping[str, str] = {Message(hint): command for hint, command in _COMMANDS.items()}
"""The command that does what a hint says, by the hint."""
