"""Corrections for multiple testing: adjusted p-values, with NaN excluded from the family."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_choice
from rankwise.errors import InputError
from rankwise.stats.differences import Floats
from rankwise.stats.values import numbers

__all__ = ["Correction", "adjust"]

Correction: TypeAlias = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]


def adjust(p: Any, method: Correction = "holm") -> Floats:
    r"""Return p-values adjusted for multiple testing, to be compared with alpha itself.

    With m tests, and p sorted in ascending order:

    * bonferroni: :math:`m p`
    * holm: the running maximum of :math:`(m - j + 1) p_{(j)}` (step-down)
    * hochberg: the running minimum of the same from the largest (step-up)
    * bh (Benjamini and Hochberg): the running minimum of :math:`m p_{(j)} / j` from the largest
    * by (Benjamini and Yekutieli): bh times :math:`\sum_{j \le m} 1 / j`

    Bonferroni and Holm control the family-wise error rate under any dependence, Hochberg only if
    the tests are independent or positively dependent. ``"bh"`` controls the false discovery rate
    under that same condition, ``"by"`` under any dependence.

    Parameters
    ----------
    p : array, any shape
        P-values. NaN marks a test that could not be made: it stays NaN, and is not counted in m.
    method : {"none", "bonferroni", "holm", "hochberg", "bh", "by"}, default="holm"
        The correction.

    Returns
    -------
    array, shape of p

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    check_choice("method", method, Correction)
    values = numbers("p", p)
    out = values.copy()
    defined = ~np.isnan(values)
    family = values[defined]
    outside = (family < 0) | (family > 1)
    if outside.any():
        raise InputError("a p-value lies between 0 and 1", found=str(family[outside][0]))
    if not len(family) or method == "none":
        return out
    m = len(family)
    order = np.argsort(family, kind="stable")
    rank = np.arange(1, m + 1)
    ordered = family[order]
    if method == "bonferroni":
        adjusted = ordered * m
    elif method == "holm":
        adjusted = np.maximum.accumulate(ordered * (m - rank + 1))
    else:
        factor = (1 / rank).sum() if method == "by" else 1.0
        bounds = ordered * (m - rank + 1) if method == "hochberg" else ordered * m / rank * factor
        adjusted = np.minimum.accumulate(bounds[::-1])[::-1]
    family[order] = np.minimum(adjusted, 1.0)  # back in the order of the tests
    out[defined] = family
    return out
