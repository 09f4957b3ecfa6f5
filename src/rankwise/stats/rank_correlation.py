r"""Agreement of two rankings of systems: Kendall's :math:`\tau` and :math:`\tau_{AP}`, with limits.

An order that is estimated from users is not the true one. The limits are those of the coefficient
over all pairs of orders that agree with what was shown of either: which systems are better than
which.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.stats.differences import Floats, numbers, significant_digits


def _signs(values: Any) -> Floats:
    """Return 1, 0 or −1 by pair: whether the row's value is above the column's, shape (k, k)."""
    x = numbers("values", values)
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all():
        raise InputError(
            "an order has a finite value for two systems or more", found=f"shape {x.shape}"
        )
    x = significant_digits(x)  # equal up to rounding is equal
    signs: Floats = np.sign(x[:, None] - x[None, :])
    return signs


def _both(first: Any, second: Any) -> tuple[Floats, Floats]:
    one, other = _signs(first), _signs(second)
    if len(one) != len(other):
        raise InputError(
            "both orders are of the same systems", found=f"{len(one)} and {len(other)} values"
        )
    return one, other


def kendall_tau(first: Any, second: Any) -> float:
    r"""Return Kendall's :math:`\tau`: concordant minus discordant pairs, divided by all pairs.

    .. math:: \tau = \frac{C - D}{k (k - 1) / 2}

    A pair that is tied in one order counts 0 (:math:`\tau_a`).

    Parameters
    ----------
    first, second : array, shape (k,)
        The values of k systems, in the same order of systems.

    Returns
    -------
    float

    References
    ----------
    Kendall 1938, A New Measure of Rank Correlation, Biometrika 30.

    Examples
    --------
    >>> round(kendall_tau([0.4, 0.3, 0.2], [0.9, 0.5, 0.7]), 4)
    0.3333
    """
    one, other = _both(first, second)
    k = len(one)
    return float((one * other).sum() / (k * (k - 1)))


def tau_ap(reference: Any, second: Any) -> float:
    r"""Return :math:`\tau_{AP}`: Kendall's :math:`\tau` weighted to the top of ``second``.

    .. math:: \tau_{AP} = \frac{2}{k - 1} \sum_{i = 2}^{k} \frac{C(i)}{i - 1} - 1

    :math:`C(i)` counts the systems above rank i of the second order that the reference has above
    the system there as well. It is the mean over the orders of systems that are tied.

    Parameters
    ----------
    reference, second : array, shape (k,)
        The values of k systems, large ones above; the two are not symmetric.

    Returns
    -------
    float

    References
    ----------
    Yilmaz, Aslam & Robertson 2008, A New Rank Correlation Coefficient for Information Retrieval,
    SIGIR.

    Examples
    --------
    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), tau_ap([4, 3, 2, 1], [4, 3, 1, 2])  # the first two, the last two swapped
    (0.3333333333333333, 0.7777777777777777)
    """
    one, other = _both(reference, second)
    k, total = len(one), 0.0
    correct = (one + 1.0) / 2.0  # a tied pair is in either order half of the time
    for system in range(k):
        above, tied = other[:, system] > 0, other[:, system] == 0
        higher, group = float(correct[above, system].sum()), int(tied.sum())
        first = int(above.sum()) + 1
        for place in range(
            group
        ):  # the others of the group before this place are as likely above as below
            rank = first + place
            if rank > 1:
                share = float(correct[tied, system].sum() - 0.5) / max(group - 1, 1)
                total += (higher + place * share) / (rank - 1) / group
    return 2.0 * total / (k - 1) - 1.0


def shown_orders(p_better: Any, level: float) -> Any:
    """Return which systems are shown to be better than which, completed by transitivity.

    Parameters
    ----------
    p_better : array, shape (k, k)
        Adjusted p-values of "row better than column".
    level : float
        The level of the tests.

    Returns
    -------
    array of bool, shape (k, k)
    """
    shown = np.asarray(p_better) < level
    for middle in range(len(shown)):
        shown |= shown[:, middle, None] & shown[None, middle, :]
    return shown


def tau_limits(first: Any, second: Any) -> tuple[float, float]:
    r"""Return the smallest and the largest :math:`\tau` of orders with these relations.

    Parameters
    ----------
    first, second : array of bool, shape (k, k)
        Whether the system of the row is shown to be above that of the column, in either order.

    Examples
    --------
    >>> shown = np.triu(np.ones((3, 3), dtype=bool), 1)
    >>> tau_limits(shown, shown), tau_limits(shown, np.zeros((3, 3), dtype=bool))
    ((1.0, 1.0), (-1.0, 1.0))
    """
    pairs = len(first) * (len(first) - 1) / 2
    same, opposite = float((first & second).sum()), float((first & second.T).sum())
    return 2.0 * same / pairs - 1.0, 1.0 - 2.0 * opposite / pairs


def tau_ap_limits(reference: Any, second: Any) -> tuple[float, float]:
    r"""Return limits of :math:`\tau_{AP}` over orders with these relations.

    Each system has at each rank that it may have a smallest and a largest share of systems above it
    that are correctly there; the limits are those of the cheapest and the dearest assignment of
    systems to ranks, which need not be an order: they may be wider than necessary.

    Parameters
    ----------
    reference, second : array of bool, shape (k, k)
        As for `tau_limits`.

    Examples
    --------
    >>> shown = np.triu(np.ones((3, 3), dtype=bool), 1)
    >>> tau_ap_limits(shown, shown), tau_ap_limits(shown, shown.T)
    ((1.0, 1.0), (-1.0, -1.0))
    """
    from scipy.optimize import linear_sum_assignment

    k = len(reference)
    low, high = np.full((k, k), np.nan), np.full((k, k), np.nan)
    for system in range(k):
        low[system], high[system] = _shares(reference, second, system)
    impossible = np.isnan(low)
    totals = []
    for shares, sign in ((low, 1.0), (high, -1.0)):
        cost = np.where(impossible, 1e6, sign * shares)
        rows, ranks = linear_sum_assignment(cost)
        totals.append(float(sign * cost[rows, ranks].sum()))
    least, most = (2.0 * total / (k - 1) - 1.0 for total in totals)
    return max(least, -1.0), min(most, 1.0)


def _shares(reference: Any, second: Any, system: int) -> tuple[Floats, Floats]:
    """Return the least and largest share correctly above ``system``, by rank; NaN for no rank."""
    k = len(reference)
    others = np.arange(k) != system
    above, below = second[:, system], second[system]
    free = others & ~above & ~below
    right, wrong = reference[:, system], reference[system]
    least, most = np.full(k, np.nan), np.full(k, np.nan)
    for rank in range(int(above.sum()), k - int(below.sum())):  # from 0
        more = rank - int(above.sum())
        surely = int((above & right).sum()) + max(0, more - int((free & ~right).sum()))
        possibly = int((above & ~wrong).sum()) + min(more, int((free & ~wrong).sum()))
        least[rank], most[rank] = (surely / rank, possibly / rank) if rank else (0.0, 0.0)
    return least, most
