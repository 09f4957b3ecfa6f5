"""`Plan`: the inputs that metrics need, the checks of these inputs, and the passes over the data.

Most conventions need one pass. Two are needed where tied items are ordered in one way for one
metric and in another way for the next, or where sums over items are taken over other users than the
rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rankwise.blocks.block import (
    HISTORY,
    WHOLE_LIST,
    Block,
    Categories,
    Fact,
    Features,
    Groups,
    Needs,
    Popularity,
)
from rankwise.blocks.partial import BlockValues
from rankwise.convention.convention import Convention
from rankwise.core.arrays import Array, is_tensor
from rankwise.core.populations import POPULATIONS, PopulationName, widest_population
from rankwise.errors import MetricError, ParameterError
from rankwise.evaluation.settings import Settings, choices_for, parse_request
from rankwise.messages import call, parameter
from rankwise.metrics.base import Metric, MetricLike
from rankwise.metrics.inputs import ItemSum
from rankwise.metrics.kinds import values_checked
from rankwise.options import (
    DEFAULT_RULES,
    ONE_PER_PASS,
    AveragingRule,
    AveragingRules,
    CatalogueRule,
    Ties,
    choice_values,
)
from rankwise.tables.table import Protocol, Recommendations, Table


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Metrics in the order asked for, and the simple ones that they are made of."""

    metrics: tuple[Metric, ...]
    rules: AveragingRules = DEFAULT_RULES
    """Who each metric is averaged over, and what it counts for other users."""
    by: tuple[str, ...] = ()
    """Columns of user groups that get values of their own."""
    exact: bool = False
    """Whether recommendations are exact ranks, which know the whole candidate set."""

    @cached_property
    def leaf_rules(self) -> dict[Metric, AveragingRule]:
        """The rule of every metric without cut-offs; components have the rule of the whole."""
        rules: dict[Metric, AveragingRule] = {}
        for metric in self.metrics:
            rule = self.rules.of(metric)
            for part in metric.tree:
                if rules.setdefault(part @ (), rule) != rule:
                    raise MetricError(
                        f"{part @ ()} would be averaged over different users in the same "
                        "evaluation",
                        found=f"{rules[part @ ()]} and {rule}",
                        hint="evaluate the metrics that it is part of in two calls",
                    )
        return rules

    @cached_property
    def all_metrics(self) -> list[Metric]:
        """All metrics, each once, with components before the metrics made of them."""
        return list(dict.fromkeys(inner for metric in self.metrics for inner in metric.tree))

    @cached_property
    def leaves(self) -> list[Metric]:
        """The metrics that are computed on blocks."""
        return list(dict.fromkeys(leaf for metric in self.metrics for leaf in metric.leaves))

    @cached_property
    def leaves_by_cutoffs(self) -> list[Metric]:
        """The leaves, each with all its cut-offs: what these share is computed once.

        Errors of metrics that rankwise does not define name the cut-off: they stay apart.
        """
        cutoffs: dict[tuple[Metric, bool], dict[int, None]] = {}
        for leaf in self.leaves:
            is_joined = leaf.is_built_in and bool(leaf.k)
            of_leaf = cutoffs.setdefault((leaf @ () if is_joined else leaf, is_joined), {})
            of_leaf |= dict.fromkeys(leaf.k)
        return [
            leaf @ tuple(ks) if is_joined else leaf for (leaf, is_joined), ks in cutoffs.items()
        ]

    @property
    def reads_truth(self) -> bool:
        """Whether any metric compares lists with the ground truth."""
        return any(metric.reads_truth for metric in self.metrics)

    @cached_property
    def needs(self) -> Needs:
        """The row sets that blocks must contain."""
        return frozenset[Any]().union(
            *(leaf.reads.rows - self.inputs_in_ranks(leaf) for leaf in self.leaves)
        )

    @property
    def deepest(self) -> int:
        """The lowest rank at which a hit counts."""
        return max(
            (k for leaf in self.leaves for k in ((WHOLE_LIST,) if leaf.reads_below_k else leaf.ks)),
            default=0,
        )

    @cached_property
    def facts(self) -> dict[Fact[Any], str]:
        """The required facts, each with the first metric that needs the fact."""
        readers: dict[Fact[Any], str] = {}
        for metric in self.all_metrics:
            waived = {HISTORY} if self.inputs_in_ranks(metric) else set()
            for fact in metric.reads.facts:
                if fact not in waived:
                    readers.setdefault(fact, str(metric))
        for item_sum, _ in self.group_sums:
            readers.setdefault(Groups.of_users(item_sum.by), str(self.metrics[0]))
        return readers

    def inputs_in_ranks(self, metric: Metric) -> Needs:
        """Return the inputs that a metric does not need because exact ranks contain them."""
        counts = self.exact and metric.counts_candidates
        return frozenset({"overlap_history"}) if counts else frozenset()

    @property
    def needs_catalogue(self) -> bool:
        """Whether any metric needs the size of the catalogue."""
        return any(
            leaf.reads.catalogue != "" and (leaf.reads.item_sums or not self.inputs_in_ranks(leaf))
            for leaf in self.leaves
        )

    @property
    def numbers_items(self) -> bool:
        """Whether something is kept, known or counted by item, so that items need numbers."""
        by_user = ("user_group", "history", "reference")
        recommended = self.needs_catalogue or "recommended" in self.needs
        return recommended or any(fact.kind not in by_user for fact in self.facts)

    @property
    def compares_scores(self) -> bool:
        """Whether any metric compares scores with the ground truth, row by row."""
        return any({"judged", "scores"} <= {*leaf.inputs} for leaf in self.leaves)

    @cached_property
    def item_sums(self) -> list[tuple[ItemSum, int]]:
        """The sums by item, at every cut-off that a metric needs."""
        by_cutoff: dict[tuple[ItemSum, int], None] = {}
        for leaf in self.leaves:
            for item_sum in leaf.reads.item_sums:
                cutoffs = leaf.ks if item_sum.has_cutoff else (0,)
                by_cutoff |= dict.fromkeys((item_sum, k) for k in cutoffs)
        return list(by_cutoff)

    @cached_property
    def group_sums(self) -> list[tuple[ItemSum, int]]:
        """The sums by item in each group of users that gets its own values."""
        summed = {
            one
            for leaf in self.leaves
            if leaf.sums_items
            for one in leaf.reads.item_sums
            if not one.by
        }
        return [
            (replace(one, by=column), k)
            for one, k in self.item_sums
            if one in summed
            for column in self.by
        ]

    def check_sums(self, evaluated: PopulationName) -> None:
        """Raise if a metric sums over items for a population other than the evaluated one.

        Raises
        ------
        MetricError
            Which is for evaluations in one piece; `rankwise.evaluate` makes several of them.
        """
        for metric in self.metrics:
            population = self.rules.of(metric).population
            if not sums_same_lists(metric, population, evaluated):
                raise MetricError(
                    f"{metric} is computed over other users than the metrics beside it",
                    found=f"population {population!r} beside {evaluated!r}",
                    hint=f"evaluate it in a separate call, or all with {call('evaluate')}; "
                    f"{parameter('population', 'all')} may take all",
                )

    def check_missing_lists(self) -> None:
        """Raise if a missing list would count as the best value of a metric."""
        for leaf, rule in self.leaf_rules.items():
            if (
                leaf.defined_for == "list"
                and rule.without_list == "zero"
                and leaf.higher_is_better is False
            ):
                raise ParameterError(
                    f"0 is the best value of {leaf}, and would reward lists that are missing",
                    found=parameter("without_list", "zero"),
                    hint=f"evaluate {leaf} in a call of its own, with "
                    f"{parameter('without_list', 'skip')}",
                )

    @property
    def unweighted_metrics(self) -> list[str]:
        """The metrics that users' weights do not change, because they sum over items."""
        return [
            str(metric) for metric in self.metrics if any(leaf.sums_items for leaf in metric.leaves)
        ]

    def jackknife_metrics(self, *, weighted: bool) -> tuple[Metric, ...]:
        """Return the metrics that need jackknife intervals; ``weighted`` if users have weights."""
        return tuple(metric for metric in self.metrics if metric.needs_jackknife(weighted=weighted))

    def block_values(self, block: Block) -> BlockValues:
        """Compute everything that the metrics need of a block, in its array library.

        Raises
        ------
        MetricFailure
            If a metric that rankwise does not define fails for a user of the block.
        """
        columns = {"n_relevant": block.n_relevant, "list_length": block.list_length}
        for leaf in self.leaves_by_cutoffs:
            rule = self.leaf_rules[leaf @ ()]
            columns |= (
                leaf.columns(block, rule) if leaf.is_built_in else values_checked(leaf, block, rule)
            )
        by_group, dense = self.group_sums, self.item_sums
        if is_tensor(
            block.list_length
        ):  # states of tensors have one size: every group and item has a place
            by_group, dense = [], [*dense, *by_group]
        return BlockValues(
            user=block.user,
            columns=columns,
            item_sums={
                column: sums
                for item_sum, k in dense
                for column, sums in item_sum.sums(block, k).items()
            },
            group_sums={
                item_sum.column(k): item_sum.group_sums(block, k) for item_sum, k in by_group
            },
            counts=self._counts(block),
        )

    def _counts(self, block: Block) -> dict[str, Array]:
        """Return the counts of a block: numbers, or unread arrays of one number."""
        counts = {"tied_rows": block.n_tied_rows, "hits": block.n_hits}
        if self.compares_scores:
            judged = block.xp.sum(block.n_judged)
            counts["truth_rows_without_score"] = judged - block.judged.user.shape[0]
        return counts | _unknown(block)


def _unknown(block: Block) -> dict[str, Array]:
    """Count recommendations and users of which something is not known that metrics use."""
    counts: dict[str, Array] = {}
    xp, rows = block.xp, block.row_sets
    for fact, values in block.facts.items():
        if rows.recommended is None:
            continue
        items = rows.recommended.item
        if isinstance(values, Popularity):
            counts["recommendations_of_cold_items"] = xp.sum(xp.take(values.count, items) == 0)
        elif isinstance(values, Features):
            counts[f"recommendations_without_{fact}"] = xp.sum(~xp.take(values.known, items))
        elif isinstance(values, Categories):
            empty = xp.take(values.signature, items) == 0
            counts[f"recommendations_without_{fact}"] = xp.sum(empty)
    if rows.overlap_history is not None:
        counts["users_without_history"] = xp.sum(rows.overlap_history.length == 0)
    elif rows.history is not None:
        counts["users_without_history"] = xp.sum(block.count_rows(rows.history) == 0)
    if rows.overlap_reference is not None:
        counts["users_without_reference"] = xp.sum(rows.overlap_reference.length == 0)
    return counts


def sums_same_lists(metric: Metric, population: PopulationName, evaluated: PopulationName) -> bool:
    """Whether sums over items are the same for a population as for all evaluated users."""
    sums = [leaf for leaf in metric.leaves if leaf.sums_items]
    if not sums or population == evaluated:
        return True
    one, other = POPULATIONS[population], POPULATIONS[evaluated]
    return one.needs_of_lists == other.needs_of_lists and not any(leaf.reads_truth for leaf in sums)


def plan_passes(
    metrics: MetricLike | Iterable[MetricLike], options: Mapping[str, Any]
) -> tuple[tuple[Metric, ...], list[Settings]]:
    """Return the metrics in order, and the settings of each evaluation that they need.

    Raises
    ------
    UsageError
        If a metric or an option makes no sense.
    """
    requested_metrics, convention, choices = parse_request(metrics, options)
    return requested_metrics, settings_of_passes(requested_metrics, convention, choices)


def settings_of_passes(
    metrics: tuple[Metric, ...], convention: Convention | None, choices: Mapping[str, Any]
) -> list[Settings]:
    """Return the settings of each evaluation that metrics need."""
    if convention is None:
        return _passes_of_shown_rows(Settings.of(metrics, None, choices))
    groups: dict[tuple[Any, ...], list[Metric]] = {}
    for metric, population in _populations(metrics, convention, choices).items():
        chosen = choices_for(convention, metric, choices)
        key = (
            *(chosen[name] for name in choice_values(*ONE_PER_PASS, per_metric=True)),
            population,
        )
        groups.setdefault(key, []).append(metric)
    return [
        Settings.of(tuple(members), convention, choices)
        for group in groups.values()
        for members in _without_conflicts(group, convention, choices)
    ]


def _passes_of_shown_rows(settings: Settings) -> list[Settings]:
    """Return settings of one evaluation, or of two if metrics of shown rows need their own."""
    populations = {metric: settings.rules.of(metric).population for metric in settings.metrics}
    if _sum_same_lists(populations):
        return [settings]

    shown = {name for name, _ in settings.exceptions}
    others = tuple(metric for metric in settings.metrics if str(metric @ ()) not in shown)
    of_shown = tuple(metric for metric in settings.metrics if metric not in others)
    groups = [group for group in (others, of_shown) if group]
    return [replace(settings, metrics=group) for group in groups]


def whole_settings(
    metrics: tuple[Metric, ...], convention: Convention | None, choices: Mapping[str, Any]
) -> Settings:
    """Return settings with all metrics, whether or not one evaluation has them all."""
    first, *_ = settings_of_passes(metrics, convention, choices)
    return replace(first, metrics=metrics)


def _without_conflicts(
    metrics: Sequence[Metric], convention: Convention, choices: Mapping[str, Any]
) -> list[list[Metric]]:
    """Group metrics greedily, so that no component has two averaging rules in a group."""
    groups: list[tuple[list[Metric], dict[str, AveragingRule]]] = []
    for metric in metrics:
        rule = AveragingRule.of(choices_for(convention, metric, choices))
        parts = {str(part @ ()): rule for part in metric.tree}
        for members, rules in groups:
            if all(rules.get(part, rule) == rule for part in parts):
                members.append(metric)
                rules.update(parts)
                break
        else:
            groups.append(([metric], parts))
    return [members for members, _ in groups]


def _populations(
    metrics: Sequence[Metric], convention: Convention, choices: Mapping[str, Any]
) -> dict[Metric, str | None]:
    """Return the population of each metric that needs a separate evaluation, None for the rest."""
    if "population" in choices:
        return dict.fromkeys(metrics)
    populations = {metric: convention.choices_of(metric)["population"] for metric in metrics}
    if _sum_same_lists(populations):
        return dict.fromkeys(metrics)

    # Sums over items are those of one population: the widest of the metrics without such sums.
    over_items = {metric for metric in metrics if any(leaf.sums_items for leaf in metric.leaves)}
    together = widest_population(
        population for metric, population in populations.items() if metric not in over_items
    )
    if together is None:
        return dict(populations)
    return {
        metric: population
        if metric in over_items and not sums_same_lists(metric, population, together)
        else None
        for metric, population in populations.items()
    }


def _sum_same_lists(populations: Mapping[Metric, PopulationName]) -> bool:
    """Return whether each metric can be evaluated with the population that has all users."""
    everyone = widest_population(populations.values())
    return everyone is not None and all(
        sums_same_lists(metric, population, everyone) for metric, population in populations.items()
    )


def several_passes_error(passes: Sequence[Settings]) -> ParameterError:
    """Return the error for several evaluations where only one is possible."""
    return ParameterError(
        "these metrics need several evaluations, with all lists at once",
        found="; ".join(", ".join(map(str, settings.metrics)) for settings in passes),
        hint="evaluate each group in a separate call",
    )


_WHOLE_LISTS = {"recommended", "overlap_history", "overlap_reference"}


def check_exact(plan: Plan, tables: Collection[str]) -> None:
    """Raise if a metric looks at more than the ranks of judged items."""
    for leaf in plan.leaves:
        waived = plan.inputs_in_ranks(leaf)
        if (leaf.reads.rows - waived) & _WHOLE_LISTS:
            raise MetricError(
                f"{leaf} describes whole lists, and exact ranks exist only for judged items",
                hint="rank lists with rw.rank, and evaluate those",
            )
        if leaf.reads.catalogue == "whole" and not waived and "items" not in tables:
            raise MetricError(
                f"{leaf} needs the size of the catalogue, which exact ranks do not contain",
                hint=f"pass {parameter('items')}",
            )


def check_piece(plan: Plan, recommended: Recommendations, threshold: float | None) -> None:
    """Raise unless exact ranks are passed exactly where they are expected.

    Nor may a metric count the catalogue where only a sample of it was ranked.
    """
    if recommended.is_exact != plan.exact:
        raise ParameterError(
            "Evaluator(exact=True) takes exact ranks, and no other evaluator does",
            found=recommended.format,
        )
    protocol = recommended.protocol
    check_threshold(protocol, threshold)
    if protocol is not None and protocol.sampled:
        check_sampled(plan, protocol.label)
    if recommended.k is not None:
        _check_tail(plan, recommended, recommended.k)
    check_scores(plan.leaves, recommended)


def check_depth(plan: Plan, recommended: Recommendations, depth: int, ties: Ties) -> None:
    """Raise if lists cannot be cut at a depth: exact ranks, or ties that a metric must know."""
    if recommended.is_exact:
        raise ParameterError(
            "exact ranks are not cut", found=parameter("depth", depth), hint="leave depth out"
        )
    if ties in ("expected", "optimistic", "pessimistic"):
        _check_tail(plan, recommended, depth)


def check_sampled(plan: Plan, label: str) -> None:
    """Raise if a metric counts the catalogue but only a sample, named ``label``, was ranked."""
    for leaf in [] if plan.exact else plan.leaves:
        if leaf.counts_candidates:
            raise MetricError(
                f"{leaf} counts all items that a user has not seen, but these lists were ranked "
                "from a sample",
                found=label,
                hint="rw.rank_relevant computes it over the sample",
            )


def check_threshold(protocol: Protocol | None, threshold: float | None) -> None:
    """Raise if the rating threshold differs from the one with which candidates were drawn."""
    if protocol is not None and protocol.sampled and protocol.relevance_threshold != threshold:
        raise ParameterError(
            "candidates were sampled for another rating threshold",
            found=f"{parameter('relevance_threshold', threshold)}, drawn for "
            f"{protocol.relevance_threshold}",
            hint="pass the same threshold here, or draw new candidates",
        )


def _check_tail(plan: Plan, recommended: Table, k: int) -> None:
    """Raise if a metric cannot handle items that tie with the last item of a list."""
    deep = [leaf for leaf in plan.leaves if leaf.reads_below_k]
    if deep and recommended.frame.group_by("user").len()["len"].max() > k:  # type: ignore[operator]
        raise MetricError(
            f"{deep[0]} needs to know which items tie with the last item of a list",
            found=f"lists of {k}, some with more items that tie with their last item",
            hint="rw.rank_relevant counts over all candidates",
        )


def check_scores(leaves: Iterable[Metric], recommended: Table) -> None:
    """Raise if a metric needs scores and these lists have none."""
    if "score" in recommended.frame.columns:
        return
    for leaf in leaves:
        if "scores" in leaf.reads.rows:
            raise MetricError(
                f"{leaf.name} needs predicted scores",
                where=recommended.source,
                found=f"columns {', '.join(recommended.frame.columns)}",
                hint="pass recommendations with a score column",
            )


def check_catalogue(plan: Plan, rule: CatalogueRule, tables: Collection[str]) -> None:
    """Raise if a metric needs the catalogue of training, and there is no training table."""
    if plan.needs_catalogue and rule == "train" and "train" not in tables:
        raise ParameterError(
            f"{parameter('catalogue', 'train')} needs training interactions",
            found="no train",
            hint=f"pass {parameter('train')}, or {parameter('catalogue', 'items')}",
        )
