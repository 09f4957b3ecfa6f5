r"""Rating error: how far predicted scores are from the truth.

Taken over the truth rows whose item has a predicted score; truth rows without one are counted in
the result. :math:`\hat r` is the score, :math:`r` the relevance of the truth row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rankwise.core.backend import bincount, namespace
from rankwise.errors import ScoreError
from rankwise.measures.arithmetic import divide, or_nan
from rankwise.measures.kinds import Pooled
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block, Judged
    from rankwise.core.engine import Needs

__all__ = ["FCP", "MAE", "MSE", "R2", "RMSE", "ExplainedVariance", "LogLoss"]

_JUDGED: Needs = frozenset({"judged", "scores"})
_PAIRS = 1 << 22  # pairs of rows compared at a time


def _judged(block: Block) -> Judged:
    rows: Judged = block.rows("judged")
    assert rows.score is not None  # lists without scores are refused before
    return rows


def _sums(block: Block, user: Array, *columns: Array) -> Array:
    """Sum columns by user, shape (U, 1, n_columns)."""
    xp = namespace(user)
    sums = [bincount(user, column, block.n_users) for column in columns]
    return xp.stack(sums, axis=1)[:, None, :]


class _MeanOverRows(Pooled):
    """A mean over rows of some function of the error."""

    average: Literal["rows", "users"] = "rows"

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is the mean of each user's own."""
        return self.average == "users"

    def sums(self, block: Block, k: Array) -> Array:
        """Return the sum of the errors and their number, shape (U, 1, 2)."""
        rows = _judged(block)
        error = self._of_error(rows.score - rows.truth)
        return _sums(block, rows.user, error, namespace(error).ones_like(error))

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the mean error, NaN without rows."""
        return or_nan(divide(sums[..., 0], sums[..., 1]), sums[..., 1] > 0)

    def _of_error(self, error: Array) -> Array:
        return error**2


@measure("mae", range=(0, math.inf), higher_is_better=False, cutoff="none", needs=_JUDGED)
class MAE(_MeanOverRows):
    r"""Mean absolute error.

    .. math:: \frac{1}{n} \sum |\hat r - r|

    Range [0, inf); lower is better. In the unit of the ratings.

    Parameters
    ----------
    average : {"rows", "users"}
        Over all rows at once, or for every user and then the mean.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "mae")["mae"]
    0.5
    """

    average: Literal["rows", "users"] = "rows"

    def _of_error(self, error: Array) -> Array:
        return namespace(error).abs(error)


@measure("mse", range=(0, math.inf), higher_is_better=False, cutoff="none", needs=_JUDGED)
class MSE(_MeanOverRows):
    r"""Mean squared error.

    .. math:: \frac{1}{n} \sum (\hat r - r)^2

    Range [0, inf); lower is better. In the squared unit of the ratings.

    Parameters
    ----------
    average : {"rows", "users"}
        Over all rows at once, or for every user and then the mean.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "mse")["mse"]
    0.5
    """

    average: Literal["rows", "users"] = "rows"


@measure("rmse", range=(0, math.inf), higher_is_better=False, cutoff="none", needs=_JUDGED)
class RMSE(_MeanOverRows):
    r"""Root of the mean squared error.

    .. math:: \sqrt{\frac{1}{n} \sum (\hat r - r)^2}

    Range [0, inf); lower is better. In the unit of the ratings.

    Parameters
    ----------
    average : {"rows", "users"}
        Over all rows at once, or for every user and then the mean: the two differ.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 6, 2: 3}}, "rmse")["rmse"]
    1.41421
    """

    average: Literal["rows", "users"] = "rows"

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the root of the mean squared error, NaN without rows."""
        return namespace(sums).sqrt(super().pool(sums, catalogue_size))


@measure(
    "r2", "rsquared", range=(-math.inf, 1), higher_is_better=True, cutoff="none", needs=_JUDGED
)
class R2(Pooled):
    r"""Coefficient of determination: the share of the variance of the truth that is explained.

    .. math:: 1 - \sum (r - \hat r)^2 / \sum (r - \bar r)^2

    Undefined where the truth does not vary. Range (-inf, 1]; higher is better.

    References
    ----------
    Wright 1921, Correlation and Causation, Journal of Agricultural Research 20.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "r2")["r2"]
    0.5
    """

    def sums(self, block: Block, k: Array) -> Array:
        """Return number, truth, squared truth and squared error, shape (U, 1, 4)."""
        rows = _judged(block)
        ones = namespace(rows.truth).ones_like(rows.truth)
        error = (rows.truth - rows.score) ** 2
        return _sums(block, rows.user, ones, rows.truth, rows.truth**2, error)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the coefficient, NaN where the truth does not vary."""
        n, total, squares, error = (sums[..., column] for column in range(4))
        spread = squares - divide(total**2, n)
        return or_nan(1.0 - divide(error, spread), spread > _noise(squares))


@measure(
    "explained_variance",
    "exp_var",
    range=(-math.inf, 1),
    higher_is_better=True,
    cutoff="none",
    needs=_JUDGED,
)
class ExplainedVariance(Pooled):
    r"""Share of the variance of the truth that is explained, a constant error forgiven.

    .. math:: 1 - Var(r - \hat r) / Var(r)

    Undefined where the truth does not vary. Range (-inf, 1]; higher is better.

    References
    ----------
    Kent 1983, Information Gain and a General Measure of Correlation, Biometrika 70(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 5, 2: 4}}
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, truth, "explained_variance")["explained_variance"]
    1.0
    """

    def sums(self, block: Block, k: Array) -> Array:
        """Return number, truth, error and the squares of both, shape (U, 1, 5)."""
        rows = _judged(block)
        error = rows.truth - rows.score
        ones = namespace(error).ones_like(error)
        return _sums(block, rows.user, ones, rows.truth, rows.truth**2, error, error**2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the share explained, NaN where the truth does not vary."""
        n, truth, truth2, error, error2 = (sums[..., column] for column in range(5))
        spread = truth2 - divide(truth**2, n)
        left = error2 - divide(error**2, n)
        return or_nan(1.0 - divide(left, spread), spread > _noise(truth2))


def _noise(squares: Array) -> Array:
    """Return what may be left of a sum of squares by rounding alone."""
    return 1e-12 * squares


@measure(
    "log_loss",
    "logloss",
    "binary_cross_entropy",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    needs=frozenset({"listed", "scores"}),
)
class LogLoss(Pooled):
    r"""Binary cross-entropy of scores that are chances, over all scored candidates.

    .. math:: -\frac{1}{n} \sum y \ln \hat p + (1 - y) \ln(1 - \hat p)

    y is 1 for relevant candidates, 0 for all others in the list. Range [0, inf); lower is better.

    Parameters
    ----------
    epsilon : float
        Chances are kept this far from 0 and 1, where the logarithm ends.

    References
    ----------
    Good 1952, Rational Decisions, Journal of the Royal Statistical Society B 14(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 0.9, 2: 0.2}}, {"ann": {1}}, "log_loss")["log_loss"]
    0.16425
    """

    epsilon: float = 1e-15

    def sums(self, block: Block, k: Array) -> Array:
        """Return the sum of the losses and their number, shape (U, 1, 2)."""
        rows = block.listed
        assert rows is not None  # the plan sees to it
        assert rows.score is not None
        assert rows.label is not None
        xp = namespace(rows.score)
        if rows.score.shape[0] and bool(xp.any((rows.score < 0) | (rows.score > 1))):
            raise ScoreError(
                "log_loss needs scores that are chances",
                where="recommendations, score",
                found=f"from {float(xp.min(rows.score)):g} to {float(xp.max(rows.score)):g}",
                hint="pass scores in [0, 1]: a logistic function of your model's, say",
            )
        chance = xp.clip(rows.score, self.epsilon, 1.0 - self.epsilon)
        loss = -(rows.label * xp.log(chance) + (1.0 - rows.label) * xp.log(1.0 - chance))
        return _sums(block, rows.user, loss, xp.ones_like(loss))

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the mean loss, NaN without rows."""
        return or_nan(divide(sums[..., 0], sums[..., 1]), sums[..., 1] > 0)


@measure("fcp", range=(0, 1), higher_is_better=True, cutoff="none", needs=_JUDGED)
class FCP(Pooled):
    r"""Fraction of concordant pairs: pairs of a user's items that the scores order rightly.

    .. math:: n_c / (n_c + n_d)

    :math:`n_c` counts pairs of one user with :math:`r_i > r_j` and :math:`\hat r_i > \hat r_j`,
    :math:`n_d` those with :math:`r_i > r_j` and :math:`\hat r_i \le \hat r_j`; both are pooled
    over users. Undefined without such pairs. Range [0, 1]; higher is better.

    References
    ----------
    Koren & Sill 2013, Collaborative Filtering on Ordinal User Feedback, IJCAI.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0, 3: 3.5}}, {"ann": {1: 5, 2: 3, 3: 2}}, "fcp")["fcp"]
    0.66667
    """

    def sums(self, block: Block, k: Array) -> Array:
        """Return the numbers of concordant and discordant pairs, shape (U, 1, 2)."""
        rows = _judged(block)
        xp = namespace(rows.user)
        n = int(rows.user.shape[0])
        lengths = bincount(rows.user, xp.ones_like(rows.truth), block.n_users)
        ends = xp.astype(xp.cumulative_sum(lengths), xp.int64)
        first = xp.take(ends - xp.astype(lengths, xp.int64), rows.user)
        size = xp.astype(xp.take(lengths, rows.user), xp.int64)
        good = bad = xp.zeros(block.n_users, dtype=xp.float64)
        pairs, start = xp.cumulative_sum(size), 0
        while start < n:
            before = int(pairs[start - 1]) if start else 0
            stop = int(xp.searchsorted(pairs, xp.asarray(before + _PAIRS), side="right"))
            stop = min(n, max(stop, start + 1))
            left = xp.repeat(xp.arange(start, stop), size[start:stop])
            edges = xp.cumulative_sum(size[start:stop]) - size[start:stop]
            within = xp.arange(left.shape[0]) - xp.repeat(edges, size[start:stop])
            right = xp.take(first, left) + within
            above = xp.take(rows.truth, left) > xp.take(rows.truth, right)
            agrees = xp.take(rows.score, left) > xp.take(rows.score, right)
            owner = xp.take(rows.user, left)
            good = good + bincount(owner, xp.astype(above & agrees, xp.float64), block.n_users)
            bad = bad + bincount(owner, xp.astype(above & ~agrees, xp.float64), block.n_users)
            start = stop
        return xp.stack([good, bad], axis=1)[:, None, :]

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the fraction, NaN without pairs."""
        pairs = sums[..., 0] + sums[..., 1]
        return or_nan(divide(sums[..., 0], pairs), pairs > 0)
