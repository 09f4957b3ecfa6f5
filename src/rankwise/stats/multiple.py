"""Corrections for many tests: adjusted p-values, NaN kept out of the family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_choice
from rankwise.errors import InputError
from rankwise.stats.differences import numbers

if TYPE_CHECKING:
    from rankwise.stats.differences import Floats

__all__ = ["Correction", "adjust"]

Correction: TypeAlias = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]


def adjust(p: Any, method: Correction = "holm") -> Floats:
    r"""Return p-values adjusted for how many there are: below alpha is significant at alpha.

    With m tests, p sorted upwards:

    * bonferroni: :math:`m p`
    * holm: the running maximum of :math:`(m - j + 1) p_{(j)}` (step-down)
    * hochberg: the running minimum of the same from the largest (step-up)
    * bh (Benjamini and Hochberg): the running minimum of :math:`m p_{(j)} / j` from the largest
    * by (Benjamini and Yekutieli): bh times :math:`\sum_{j \le m} 1 / j`

    Bonferroni and Holm keep the chance of any false finding below alpha whatever the dependence,
    Hochberg if tests are independent or positively dependent; bh keeps the expected share of false
    findings below alpha under the same, by whatever the dependence.

    Parameters
    ----------
    p : array, any shape
        P-values; NaN are tests that could not be made: they stay NaN and do not count.
    method : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}
        The correction.

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    check_choice("method", method, Correction)
    given = numbers("p", p)
    out = given.copy()
    real = ~np.isnan(given)
    own = given[real]
    if ((own < 0) | (own > 1)).any():
        raise InputError("a p-value lies between 0 and 1", found=str(own[(own < 0) | (own > 1)][0]))
    if not len(own) or method == "none":
        return out
    m = len(own)
    order = np.argsort(own, kind="stable")
    place = np.arange(1, m + 1)
    ordered = own[order]
    if method == "bonferroni":
        found = ordered * m
    elif method == "holm":
        found = np.maximum.accumulate(ordered * (m - place + 1))
    elif method == "hochberg":
        found = _from_the_largest(ordered * (m - place + 1))
    else:
        extra = (1 / place).sum() if method == "by" else 1.0
        found = _from_the_largest(ordered * m / place * extra)
    back = np.empty(m)
    back[order] = np.minimum(found, 1.0)
    out[real] = back
    return out


def _from_the_largest(values: Floats) -> Floats:
    least: Floats = np.minimum.accumulate(values[::-1])[::-1]
    return least
