"""Digests of the tables that the metrics of an evaluation read, by which results are compared."""

from __future__ import annotations

from rankwise.core.digests import Words, column_words, digest_in_parts, id_words, number_words, row_digest
from rankwise.core.threads import default_threads
from rankwise.encoding.fact_tables import FactTables, digest_of_interactions
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.user_table import UserTable
from rankwise.tables.table import Table, is_absent

__all__ = ["digest_of_truth", "digests_of_tables"]

_OF_TRAINING = ("popularity", "history", "similarity")


def digest_of_truth(truth: Table) -> dict[str, int]:
    """Return the digest of a ground truth; a missing relevance is 1, as metrics take it."""
    if is_absent(truth):
        return {}
    user, item = truth.frame["user"], truth.frame["item"]
    relevance = truth.frame["relevance"].to_numpy() if "relevance" in truth.frame.columns else None

    def words(rows: slice) -> list[Words | None]:
        grades = None if relevance is None else number_words(relevance[rows])
        return [id_words(user[rows]), id_words(item[rows]), grades]

    return {"truth": digest_in_parts(len(user), words, default_threads())}


def digests_of_tables(
    settings: Settings, plan: Plan, facts: FactTables, user_table: UserTable, *, by_user: bool | None = None
) -> dict[str, int]:
    """Return the digest of what metrics read of each table beside the ground truth.

    What only groups users into slices is left out: it moves no value of all users. With ``by_user``
    True or False only the tables that have rows by user are taken, or only those that have none.
    """
    read = {fact for metric in plan.every for fact in metric.reads.facts if fact in facts.wanted}
    digests: dict[str, int] = {}
    if by_user is not False:
        train = facts.tables.get("train")
        if train is not None and (
            _reads_training(settings, plan, facts) or any(f.kind in (*_OF_TRAINING, "source") for f in read)
        ):
            digests["train"] = digest_of_interactions(train)
    if user_table.weights is not None and by_user in (None, isinstance(settings.weights, str)):
        frame = user_table.weights.frame
        digests["weights"] = row_digest([id_words(frame["user"]), column_words(frame["weight"])])
    if by_user is not True and plan.needs_catalogue and settings.catalogue == "items" and "items" in facts.tables:
        digests["items"] = row_digest([id_words(facts.tables["items"].frame["item"])])
    for fact in sorted(read):
        of_users = fact.kind in ("user_group", "source", "baseline")
        if fact.kind not in _OF_TRAINING and by_user in (None, of_users):
            digests[str(fact)] = facts.digest(fact)
    return digests


def _reads_training(settings: Settings, plan: Plan, facts: FactTables) -> bool:
    """Whether training interactions decide what is evaluated, beside what metrics read of them."""
    seen = settings.catalogue == "train" or "items" not in facts.tables  # every item seen is the catalogue
    return settings.exclude_seen or (plan.needs_catalogue and seen)
