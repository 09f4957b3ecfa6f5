"""The keys of WarpRec's ``evaluation`` section, as measures and options of rankwise.

They name what to compute, not how: values follow rankwise's definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rankwise.errors import ParameterError, RankwiseError, nearest
from rankwise.measures import registry

__all__ = ["WARPREC_FIELDS", "ComplexMetric", "complex_measure", "tests_of"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ComplexMetric(_Strict):
    """A metric with parameters."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class Corrections(_Strict):
    """Corrections for several tests; each that is true gives a comparison."""

    bonferroni: bool = False
    holm_bonferroni: bool = False
    fdr: bool = False
    alpha: float = Field(default=0.05, gt=0, lt=1)


class Significance(_Strict):
    """Significance tests; each that is true gives a comparison."""

    paired_t_test: bool = False
    wilcoxon_test: bool = False
    kruskal_test: bool = False
    whitney_u_test: bool = False
    corrections: Corrections = Field(default_factory=lambda: Corrections())


_UNUSED = "Accepted, and without effect here."
WARPREC_FIELDS: dict[str, Any] = {
    "top_k": (int | list[int] | None, Field(None, description="The same as k.")),
    "metrics": (
        list[str] | None,
        Field(None, description="Names of metrics, at the cut-offs of top_k; also measures as text."),
    ),
    "complex_metrics": (
        list[ComplexMetric],
        Field(default_factory=list, description="Metrics with parameters: {name: F1, params: {…}}."),
    ),
    "validation_metric": (str | None, Field(None, description="The primary measure, such as nDCG@10.")),
    "batch_size": (int | None, Field(None, ge=1, description="The same as block_size.")),
    "strategy": (
        Literal["full", "sampled"],
        Field("full", description="Rank all items, or each user's relevant items and sampled negatives."),
    ),
    "num_negatives": (int, Field(99, ge=1, description="Negatives per user, if sampled.")),
    "seed": (int, Field(42, ge=0, description="Seed of the sampled negatives.")),
    "stat_significance": (
        Significance | None,
        Field(None, description="Tests and corrections, in place of the section comparison."),
    ),
    "save_per_user": (bool, Field(False, description="The same as output.per_user: csv.")),
    "save_evaluation": (bool, Field(True, description=_UNUSED)),
    "full_evaluation_on_report": (bool, Field(False, description=_UNUSED)),
    "max_metric_per_row": (int, Field(4, description=_UNUSED)),
}
"""Fields of the model of the section ``evaluation``: type and default of each."""

_TESTS = {"paired_t_test": "t", "wilcoxon_test": "wilcoxon"}
_CORRECTIONS = {"bonferroni": "bonferroni", "holm_bonferroni": "holm", "fdr": "bh"}
_UNPAIRED = {"kruskal_test": "Kruskal-Wallis", "whitney_u_test": "Mann-Whitney"}


def tests_of(significance: Significance) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the options of every requested comparison, and messages for unsupported ones."""
    refused = [
        f"{key}: {name} treats the systems' users as unrelated, though they are the same users; "
        "use paired_t_test or wilcoxon_test"
        for key, name in _UNPAIRED.items()
        if getattr(significance, key)
    ]
    tests = [test for key, test in _TESTS.items() if getattr(significance, key)]
    given = significance.corrections
    corrections = [c for key, c in _CORRECTIONS.items() if getattr(given, key)] or ["none"]
    options = [
        {"test": test, "correction": correction, "alpha": given.alpha} for test in tests for correction in corrections
    ]
    return options, refused


_PARAMETERS = {
    "f": {"metric_name_1": "first", "metric_name_2": "second"},
    "euclidean_distance": {"metric_names": "measures", "utopia_points": "utopia"},
    "hypervolume": {"metric_names": "measures", "nadir_points": "nadir", "higher_is_better": "directions"},
}
"""Parameters that WarpRec calls otherwise, by measure."""


def complex_measure(metric: ComplexMetric, k: Sequence[int]) -> Any:
    """Return the measure that a metric with parameters is.

    >>> str(complex_measure(ComplexMetric(name="F1", params={"metric_name_1": "nDCG",
    ...     "metric_name_2": "MAP", "beta": 0.5}), [10]))
    'f(beta=0.5,first=ndcg,second=map)@10'

    Raises
    ------
    MeasureError, ParameterError
        If there is no such measure or parameter.
    """
    cls = registry.find(metric.name)
    names, known = _PARAMETERS.get(cls.name, {}), cls().parameters
    params = {}
    for asked, value in metric.params.items():
        name = names.get(asked, asked)
        if name not in known:
            raise ParameterError(
                f"{cls.name} has no parameter {asked!r}", found=", ".join(known) or "none", hint=nearest(name, known)
            )
        params[name] = value
    try:
        measure = cls(**params)
        return measure @ list(k) if k and cls.cutoff != "none" else measure
    except RankwiseError:
        raise
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{cls.name}: {error}", found=f"{metric.params}") from error
