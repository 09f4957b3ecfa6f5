"""Interleaved lists of two or more rankers, and the test of whose items users prefer.

The drafts are `team_draft`, `multileave`, `balanced` and `optimised`; `rankwise.interleaving`
evaluates an experiment with them.
"""

from rankwise.interleave.drafts import balanced, multileave, optimised, team_draft

__all__ = ["balanced", "multileave", "optimised", "team_draft"]
