r"""Rating error: how far predicted scores are from ground-truth ratings.

Computed over the ground-truth rows whose item has a predicted score; the result counts the rows
without one. :math:`\hat r` is the score, :math:`r` the rating (the relevance of the row).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rankwise import functional as plain
from rankwise.blocks.block import Block
from rankwise.core.arrays import Array, ExactTotal, namespace
from rankwise.core.ragged import TiedPairs, count_rises, count_wrong_pairs, order_within
from rankwise.functional.labels import Statistic
from rankwise.metrics.arithmetic import divide, matthews_correlation, or_nan, ratio, sums_by_user
from rankwise.metrics.base import ValueKind, metric
from rankwise.metrics.kinds import MeanOfRows, Pooled, Sums
from rankwise.metrics.probability import check_probabilities

__all__ = ["FCP", "MAE", "MSE", "R2", "RMSE", "XAUC", "Classification", "ExplainedVariance"]


class _OfScores(Pooled):
    """A function of predicted scores and the ratings of the same items."""

    inputs = ("judged", "scores")


@dataclass(frozen=True, kw_only=True, repr=False)
class _MeanLoss(MeanOfRows, _OfScores):
    """A mean loss of the scores.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the sum of the losses and the number of rows, shape (U,) both."""
        rows = block.judged
        loss = self._loss(rows.score - rows.truth)
        return sums_by_user(block, rows.user, loss, namespace(loss).ones_like(loss))

    def _loss(self, error: Array) -> Array:
        return error**2


@metric(
    "mae",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    plain=plain.mean_absolute_error,
)
class MAE(_MeanLoss):
    r"""Mean absolute error.

    .. math:: \frac{1}{n} \sum |\hat r - r|

    Over the n ground truth rows with a score :math:`\hat r`; :math:`r` is the rating. The value is
    in the unit of the ratings. Needs scores.

    Notes
    -----
    Use it for errors of predicted ratings, in stars, where a large error counts in proportion. Do
    not use it to choose a ranking: the model with the smaller error may rank worse. Rows without a
    prediction are counted, not scored.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "mae")["mae"]
    0.5
    """

    def _loss(self, error: Array) -> Array:
        return namespace(error).abs(error)


@metric(
    "mse",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    plain=plain.mean_squared_error,
)
class MSE(_MeanLoss):
    r"""Mean squared error.

    .. math:: \frac{1}{n} \sum (\hat r - r)^2

    Over the n ground truth rows with a score :math:`\hat r`; :math:`r` is the rating. The value is
    in the squared unit of the ratings. Needs scores.

    Notes
    -----
    Use it where a model is trained on the squared error, and the loss itself is wanted. Do not use
    it for readers: it is in squared stars. ``rmse`` has the unit of ratings.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "mse")["mse"]
    0.5
    """


@metric(
    "rmse",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    plain=plain.root_mean_squared_error,
)
class RMSE(_MeanLoss):
    r"""Root of the mean squared error.

    .. math:: \sqrt{\frac{1}{n} \sum (\hat r - r)^2}

    Over the n ground truth rows with a score :math:`\hat r`; :math:`r` is the rating. The value is
    in the unit of the ratings. Needs scores.

    Parameters
    ----------
    average : {"rows", "users"}, default="rows"
        The root of the mean over all rows of all users, or the mean over users of the value of each
        user.

    Notes
    -----
    Use it for errors of predicted ratings, in stars, where large errors weigh most. Do not use it
    to choose a ranking: the model with the smaller error may rank worse. Rows without a prediction
    are counted, not scored.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 6, 2: 3}}, "rmse")["rmse"]
    1.41421
    """

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the root of the mean squared error, NaN without rows."""
        mean = super().pool(sums, catalogue_size)
        return namespace(mean).sqrt(mean)


@metric(
    "r2", "rsquared", range=(-math.inf, 1), higher_is_better=True, cutoff="none", plain=plain.r2
)
class R2(_OfScores):
    r"""Coefficient of determination: the share of the variance of ratings that is explained.

    .. math:: 1 - \sum (r - \hat r)^2 / \sum (r - \bar r)^2

    Over all ground truth rows with a score :math:`\hat r`; :math:`r` is the rating, :math:`\bar r`
    the mean rating. NaN if the ratings do not vary. Needs scores.

    Notes
    -----
    Use it for the share of the variance of ratings that a model explains. Do not compare it between
    data sets: where ratings vary little, small errors give a low value, which may be negative.

    References
    ----------
    Wright 1921, Correlation and Causation, Journal of Agricultural Research 20.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0}}, {"ann": {1: 5, 2: 3}}, "r2")["r2"]
    0.5
    """

    cancels = True

    def sums(self, block: Block, k: int) -> Sums:
        """Return number, squared error, and the centred sums of ratings, each of shape (U,)."""
        rows = block.judged
        n, error = sums_by_user(
            block,
            rows.user,
            namespace(rows.truth).ones_like(rows.truth),
            (rows.truth - rows.score) ** 2,
        )
        return n, error, *_centred_sums(block, rows.user, rows.truth, n)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the coefficient of each user, NaN where the ratings do not vary."""
        n, error, *ratings = sums
        variation, varies = _variation(n, ratings)
        return or_nan(1.0 - divide(error, variation), varies)

    def pool_totals(self, totals: Sequence[ExactTotal], catalogue_size: int) -> float:
        """Return the coefficient over all users, NaN where the ratings do not vary."""
        n, error, *ratings = totals
        variation = _exact_variation(n, ratings)
        return 1.0 - error.value / variation if variation else math.nan


@metric(
    "explained_variance",
    "exp_var",
    range=(-math.inf, 1),
    higher_is_better=True,
    cutoff="none",
    plain=plain.explained_variance,
)
class ExplainedVariance(_OfScores):
    r"""Share of the variance of ratings that is explained, ignoring a constant error.

    .. math:: 1 - Var(r - \hat r) / Var(r)

    Over all ground truth rows with a score :math:`\hat r`; :math:`r` is the rating. NaN if the
    ratings do not vary. Needs scores.

    Notes
    -----
    Use it beside ``r2``: where it is higher, a constant error explains the gap. Do not use it
    alone: predictions that are all one star too high can score 1.

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

    cancels = True

    def sums(self, block: Block, k: int) -> Sums:
        """Return number, and the centred sums of ratings and of errors, each of shape (U,)."""
        rows = block.judged
        (n,) = sums_by_user(block, rows.user, namespace(rows.truth).ones_like(rows.truth))
        ratings, errors = (
            _centred_sums(block, rows.user, x, n) for x in (rows.truth, rows.truth - rows.score)
        )
        return n, *ratings, *errors

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the share explained of each user, NaN where the ratings do not vary."""
        n, *rest = sums
        variation, varies = _variation(n, rest[:_CENTRED])
        unexplained, differs = _variation(n, rest[_CENTRED:])
        unexplained = namespace(unexplained).where(
            differs, unexplained, namespace(unexplained).zeros_like(unexplained)
        )
        return or_nan(1.0 - divide(unexplained, variation), varies)

    def pool_totals(self, totals: Sequence[ExactTotal], catalogue_size: int) -> float:
        """Return the share explained over all users, NaN where the ratings do not vary."""
        n, *rest = totals
        variation, unexplained = (
            _exact_variation(n, centred) for centred in (rest[:_CENTRED], rest[_CENTRED:])
        )
        return 1.0 - unexplained / variation if variation else math.nan


_CENTRED = 6  # sums that `_centred_sums` returns
_NOISE = (
    1e-12  # variation, relative to the squares around the centre, that rounding alone may leave
)


def _centred_sums(block: Block, user: Array, x: Array, n: Array) -> Sums:
    r"""Return sums of each user's values around a centre of the user, arrays of shape (U,).

    The sum of squares around the mean is :math:`\sum x^2 - (\sum x)^2 / n`, in which all digits
    cancel if the mean is large. With :math:`d = x - c`, for a centre c near the user's mean,

    .. math:: \sum x = \sum d + nc, \quad \sum x^2 = \sum d^2 + 2 c \sum d + n c^2

    The centre has 18 bits, so that products with it are exact (:math:`c \sum d` in two terms), and
    exact totals of the terms give the variance over any users as if their values were at hand.
    """
    xp = namespace(x)
    (total,) = sums_by_user(block, user, x)
    centre = _leading(divide(total, n), 18)
    d = x - xp.take(centre, user)
    deviations, squares = sums_by_user(block, user, d, d**2)
    high = _leading(deviations, 26)
    return (
        deviations,
        squares,
        n * centre,
        n * centre**2,
        centre * high,
        centre * (deviations - high),
    )


def _leading(x: Array, bits: int) -> Array:
    """Return numbers rounded to their leading bits (Dekker's splitting)."""
    shifted = x * (2.0 ** (53 - bits) + 1.0)
    return shifted - (shifted - x)


def _variation(n: Array, centred: Sequence[Array]) -> tuple[Array, Array]:
    """Return each user's sum of squares around the mean, and whether this exceeds rounding."""
    deviations, squares, *_ = centred
    variation = squares - divide(deviations**2, n)
    return variation, variation > _NOISE * squares


def _exact_variation(n: ExactTotal, centred: Sequence[ExactTotal]) -> float:
    """Return the sum of squares around the mean over all users; 0 within rounding."""
    if not n.units:
        return 0.0
    if any(total.beyond for total in centred):
        return math.nan
    deviations, squares, centres, of_centres, *products = (total.exact for total in centred)
    total_squares = squares + of_centres + 2 * sum(products)
    variation = float(total_squares - (deviations + centres) ** 2 / n.exact)
    return variation if variation > _NOISE * float(squares) else 0.0


@metric(
    "classification",
    range=(-1, 1),
    higher_is_better=True,
    cutoff="none",
    plain=plain.classification,
)
class Classification(Pooled):
    r"""Statistic of the confusion matrix of scores as a classifier, over all items in the lists.

    .. math:: F_1 = \frac{2 \, TP}{2 \, TP + FP + FN}

    An item of a list is classified as relevant if its score is at least the threshold. Of all items
    of all lists, TP are classified as relevant and are, FP are not; FN are classified as not
    relevant but are relevant, TN are not relevant either. The order of the lists does not matter,
    and relevant items that no list has do not count. 0 where a statistic has nothing to divide by.
    Needs scores.

    Parameters
    ----------
    statistic : str, default="f1"
        ``"accuracy"`` (TP + TN) / (TP + FP + FN + TN); ``"balanced_accuracy"``, the mean of recall
        and specificity; ``"f1"``; ``"fowlkes_mallows"``, the geometric mean of precision and
        recall; ``"informedness"``, recall + specificity - 1; ``"jaccard"`` TP / (TP + FP + FN), the
        threat score; ``"markedness"``, precision + negative predictive value - 1; ``"mcc"``, the
        Matthews correlation coefficient; ``"negative_predictive_value"`` TN / (TN + FN);
        ``"precision"`` TP / (TP + FP); ``"recall"`` TP / (TP + FN); ``"specificity"`` TN / (TN +
        FP).
    threshold : float or None, default=0.5
        The least score of an item that is classified as relevant. None: the score is the
        probability that it is, so that the four numbers are expected values.

    Notes
    -----
    Use it where scores pass a threshold that decides what is shown. Do not use it for rankings, or
    with a threshold chosen on the same data: it depends on the threshold, and on which items have a
    score.

    References
    ----------
    Rozemberczki et al. 2022, rexmex, ``ClassificationMetricSet``; Powers 2011, Evaluation: From
    Precision, Recall and F-Measure to ROC, Informedness, Markedness and Correlation, Journal of
    Machine Learning Technologies 2(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": {1: 0.9, 2: 0.6, 3: 0.2}}, {"ann": {1}}
    >>> result = rw.evaluate(lists, truth, ["classification", "classification(statistic=specificity)"])
    >>> list(result.values.values())
    [0.6666666666666666, 0.5]
    """

    inputs = ("recommended", "scores")
    statistic: Statistic = "f1"
    threshold: float | None = 0.5

    @property
    def is_of_shown_rows(self) -> bool:
        """Whether the value is over every shown row: always."""
        return True

    @property
    def compares_clicks(self) -> bool:
        """Whether labels are clicks: where scores are probabilities, or are cut like them."""
        return self.threshold is None or 0 <= self.threshold <= 1

    def sums(self, block: Block, k: int) -> Sums:
        """Return TP, FP, FN and TN, shape (U,) each."""
        rows, xp = block.recommended, block.xp
        if self.threshold is None:
            check_probabilities(
                rows.score, self.name, "write threshold= to classify by another score"
            )
            positive = rows.score
        else:
            positive = xp.astype(rows.score >= self.threshold, xp.float64)
        label = xp.astype(rows.label, xp.float64)
        cells = (
            positive * label,
            positive * (1 - label),
            (1 - positive) * label,
            (1 - positive) * (1 - label),
        )
        return sums_by_user(block, rows.user, *cells)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the statistic, NaN without rows."""
        tp, fp, fn, tn = sums
        precision, recall = divide(tp, tp + fp), divide(tp, tp + fn)
        specificity, negative = divide(tn, tn + fp), divide(tn, tn + fn)
        root = namespace(tp).sqrt
        values: dict[str, Callable[[], Array]] = {
            "accuracy": lambda: divide(tp + tn, tp + fp + fn + tn),
            "balanced_accuracy": lambda: (recall + specificity) / 2,
            "f1": lambda: divide(2 * tp, 2 * tp + fp + fn),
            "fowlkes_mallows": lambda: root(precision * recall),
            "informedness": lambda: recall + specificity - 1,
            "jaccard": lambda: divide(tp, tp + fp + fn),
            "markedness": lambda: precision + negative - 1,
            "mcc": lambda: matthews_correlation(tp, fp, fn, tn),
            "negative_predictive_value": lambda: negative,
            "precision": lambda: precision,
            "recall": lambda: recall,
            "specificity": lambda: specificity,
        }
        return or_nan(values[self.statistic](), tp + fp + fn + tn > 0)


class _OfPairs(_OfScores):
    """A function of the pairs of rows of one user with different ratings."""

    def _pairs(self, block: Block, tied: TiedPairs) -> tuple[Array, Array]:
        """Return the numbers of pairs that scores put in the right and in the wrong order, (U,)."""
        rows = block.judged
        ascending = namespace(rows.truth).take(rows.truth, order_within(rows.user, rows.truth))
        n_pairs = count_rises(rows.user, ascending, block.n_users)
        wrong = count_wrong_pairs(rows.user, -rows.score, rows.truth, block.n_users, tied=tied)
        return n_pairs - wrong, wrong


@metric(
    "fcp",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    plain=plain.fraction_of_concordant_pairs,
)
class FCP(_OfPairs):
    r"""Fraction of concordant pairs: item pairs of one user that the scores order correctly.

    .. math:: n_c / (n_c + n_d)

    :math:`n_c` counts pairs of one user with :math:`r_i > r_j` and :math:`\hat r_i > \hat r_j`,
    :math:`n_d` pairs with :math:`r_i > r_j` and :math:`\hat r_i \le \hat r_j`; :math:`r_i` is the
    rating, :math:`\hat r_i` the score of item i. Both are summed over users. NaN without such
    pairs. Needs scores.

    Parameters
    ----------
    average : {"pairs", "users"}, default="pairs"
        ``"users"`` takes the mean of :math:`n_c` over users who have a concordant pair, and that of
        :math:`n_d` over users who have a discordant pair, in place of the sums (as in Surprise).

    Notes
    -----
    Use it for predicted ratings of which only the order within a user matters. Do not use it for
    the top of lists: all pairs count alike, also those between the worst items.

    References
    ----------
    Koren & Sill 2013, Collaborative Filtering on Ordinal User Feedback, IJCAI.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 4.0, 2: 3.0, 3: 3.5}}, {"ann": {1: 5, 2: 3, 3: 2}}, "fcp")["fcp"]
    0.66667
    """

    average: Literal["pairs", "users"] = "pairs"

    def sums(self, block: Block, k: int) -> Sums:
        """Return the numbers of concordant and discordant pairs, and whether any exist, (U,)."""
        concordant, discordant = self._pairs(block, "wrong")
        xp = block.xp
        return (
            concordant,
            discordant,
            *(xp.astype(n > 0, xp.float64) for n in (concordant, discordant)),
        )

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the fraction, NaN without pairs."""
        concordant, discordant, *users = sums
        if self.average == "users":
            concordant, discordant = divide(concordant, users[0]), divide(discordant, users[1])
        pairs = concordant + discordant
        return ratio(concordant, pairs)


@metric(
    "xauc",
    "extended_auc",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    plain=plain.extended_auc,
)
class XAUC(_OfPairs):
    r"""Extended area under the ROC curve: probability that scores order two rows as their values.

    .. math:: \frac{1}{n_u} \left(n^+_u + \tfrac{1}{2} n^=_u\right)

    :math:`n_u` pairs of rows of user u have different ratings, such as seconds watched. In
    :math:`n^+_u` of them the row with the larger rating has the larger score, in :math:`n^=_u` both
    have the same score. A user without such a pair has no value. A constant score has 0.5. Needs
    scores.

    Pairs are of rows of one user. To compare the rows of all users with one another, evaluate them
    as one group: ``rankwise.rankers.evaluate_rows(scores, labels, "xauc", group=[len(labels)])``.

    Parameters
    ----------
    average : {"users", "rows", "pairs"}, default="users"
        The mean over users of their values; the mean in which a user has the weight of the number
        of rows; or the share over the pairs of all users.

    Notes
    -----
    Use it for the order of predicted continuous values: watch time, ratings, revenue. Do not use it
    for the top of lists, or for the size of predictions: all pairs count alike, and any rising
    function of the scores has the same value.

    References
    ----------
    Zhan et al. 2022, Deconfounding Duration Bias in Watch-time Prediction for Video Recommendation,
    KDD (over sampled pairs of all users).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 40.0, 2: 9.0, 3: 9.0}}, {"ann": {1: 60, 2: 20, 3: 5}}, "xauc")["xauc"]
    0.83333
    """

    average: Literal["users", "rows", "pairs"] = "users"

    @property
    def mean_of_users(self) -> bool:
        """Whether the value is a mean of users' values, not of pairs."""
        return self.average != "pairs"

    @property
    def value_kind(self) -> ValueKind:
        """The kind of the value: a weighted mean where users have the weights of their rows."""
        return "weighted mean" if self.average == "rows" else super().value_kind

    def sums(self, block: Block, k: int) -> Sums:
        """Return the numbers of pairs in the right order, of pairs, and of rows, shape (U,)."""
        right, wrong = self._pairs(block, "half")
        rows = block.judged
        (n_rows,) = sums_by_user(block, rows.user, namespace(rows.truth).ones_like(rows.truth))
        return right, right + wrong, n_rows

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the share of pairs in the right order, NaN without pairs."""
        right, pairs, _ = sums
        return ratio(right, pairs)

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users by their rows, if that is asked for."""
        return sums[2] if self.average == "rows" else None
