r"""Predicted probabilities, as of clicks: their accuracy and their calibration.

Computed over all rows of the lists, of all users together: :math:`\hat p` is the score, y is 1 if
the item is relevant, else 0. Calibration compares the mean of :math:`\hat p` with the mean of y,
over all rows or in bins of :math:`\hat p`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import Block
from rankwise.core.arrays import Array, bincount, check_none, is_tensor, namespace
from rankwise.errors import MetricError, ParameterError, ScoreError
from rankwise.messages import call, parameter
from rankwise.metrics.arithmetic import Limits, divide, or_nan, ratio, sums_by_user
from rankwise.metrics.base import metric
from rankwise.metrics.inputs import label
from rankwise.metrics.kinds import MeanOfRows, Pooled, Sums
from rankwise.metrics.states import CellValues, FinaliseInputs, Floats, State, UserFrame

__all__ = [
    "Brier",
    "CalibrationRatio",
    "ExpectedCalibrationError",
    "LogLoss",
    "NormalisedEntropy",
    "ReliabilityCurve",
]

_FROM_1 = Limits("must lie between 1 and 1,000", lambda x: 1 <= x <= 1000)


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfProbabilities(Pooled):
    """A function of the probabilities and labels of all rows.

    Parameters
    ----------
    scores : {"probabilities", "logits"}, default="probabilities"
        Whether scores are probabilities, or logits: a logit z stands for the probability
        :math:`1 / (1 + e^{-z})`.
    """

    inputs = ("recommended", "scores")
    scores: Literal["probabilities", "logits"] = "probabilities"

    @property
    def is_of_shown_rows(self) -> bool:
        """Whether the value is over every shown row, and not a mean over users."""
        return not self.mean_of_users

    @property
    def compares_clicks(self) -> bool:
        """Whether labels are clicks: they are."""
        return True

    def _probabilities(self, block: Block) -> Array:
        """Return the probability of each row of the lists; raise if a score is none."""
        score = block.recommended.score
        if self.scores == "logits":
            return _sigmoid(score)
        check_probabilities(score, self.name, f"are they logits? write {self.name}(scores=logits)")
        return score


def check_probabilities(scores: Array, name: str, hint: str) -> None:
    """Raise unless all scores lie in [0, 1]."""
    xp = namespace(scores)
    check_none(
        (scores < 0) | (scores > 1),
        lambda: ScoreError(
            f"{name} needs scores that are probabilities",
            where="recommendations, score",
            found=f"from {float(xp.min(scores)):g} to {float(xp.max(scores)):g}",
            hint=hint,
        ),
    )


def _sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)), without overflow."""
    xp = namespace(z)
    part = xp.exp(-xp.abs(z))
    return xp.where(z >= 0, xp.ones_like(part), part) / (1.0 + part)


@dataclass(frozen=True, kw_only=True, repr=False)
class _CrossEntropy(_OfProbabilities):
    """A function of the cross-entropy.

    Parameters
    ----------
    scores : {"probabilities", "logits"}, default="probabilities"
        Whether scores are probabilities, or logits: a logit z stands for the probability
        :math:`1 / (1 + e^{-z})`, which is not clipped.
    epsilon : float, default=1e-15
        Probabilities are clipped to [epsilon, 1 - epsilon], so that logarithms are finite.
    """

    epsilon: float = 1e-15

    def _losses(self, block: Block) -> Array:
        """Return the cross-entropy of each row of the lists."""
        rows, xp = block.recommended, block.xp
        if self.scores == "logits":  # log(1 + exp(z)) - y z, without overflow
            z = rows.score
            return xp.clip(z, min=0.0) - rows.label * z + xp.log1p(xp.exp(-xp.abs(z)))
        p = xp.clip(self._probabilities(block), self.epsilon, 1.0 - self.epsilon)
        return -(rows.label * xp.log(p) + (1.0 - rows.label) * xp.log(1.0 - p))


def _sums_and_rows(block: Block, *columns: Array) -> Sums:
    """Sum each column over the rows of each user's list, and count the rows, shape (U,) each."""
    user, xp = block.recommended.user, block.xp
    return sums_by_user(block, user, *columns, xp.ones(user.shape[0], dtype=xp.float64))


@metric(
    "log_loss",
    "logloss",
    "binary_cross_entropy",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    family="rating",
    plain=plain.log_loss,
)
class LogLoss(MeanOfRows, _CrossEntropy):
    r"""Binary cross-entropy of scores that are probabilities, over all items in the lists.

    .. math:: -\frac{1}{n} \sum \left(y \ln \hat p + (1 - y) \ln(1 - \hat p)\right)

    Over all n items of all lists: :math:`\hat p` is the score, y is 1 if the item is relevant, else
    0. Needs scores in [0, 1], or logits.

    Parameters
    ----------
    average : {"rows", "users"}, default="rows"
        The mean over all rows of all users, or the mean over users of the value of each user (as in
        WarpRec).

    Notes
    -----
    Use it to compare click probabilities of models on the same rows. Do not compare it between data
    with different click rates (``normalised_entropy``), and mind that one confident error can
    dominate it.

    References
    ----------
    Good 1952, Rational Decisions, Journal of the Royal Statistical Society B 14(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 0.9, 2: 0.2}}, {"ann": {1}}, "log_loss")["log_loss"]
    0.16425
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the sum of the losses and the number of rows, shape (U,) both."""
        return _sums_and_rows(block, self._losses(block))


@metric(
    "normalised_entropy",
    "normalized_entropy",
    "ne",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="none",
    family="rating",
    plain=plain.normalised_entropy,
)
class NormalisedEntropy(_CrossEntropy):
    r"""Log loss divided by that of always predicting the mean click rate.

    .. math:: \frac{-\frac{1}{n} \sum \left(y \ln \hat p + (1 - y) \ln(1 - \hat p)\right)}
              {-\left(\bar y \ln \bar y + (1 - \bar y) \ln(1 - \bar y)\right)}

    Over all n items of all lists: :math:`\hat p` is the score, y is 1 if the item is relevant, else
    0, :math:`\bar y` the mean of y. Below 1 the model knows more than the mean rate; unlike the log
    loss, the value can be compared between data of different rates. NaN if no item is relevant, or
    all are. Needs scores in [0, 1], or logits.

    Notes
    -----
    Use it to compare click probabilities between data with different click rates: 1 is the mean
    rate alone. Do not use it on data without a click, or with clicks alone: it is undefined there.

    References
    ----------
    He et al. 2014, Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 0.9, 2: 0.2}}, {"ann": {1}}, "normalised_entropy")["normalised_entropy"]
    0.23697
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the loss sum, and the numbers of relevant rows and of rows, shape (U,) each."""
        return _sums_and_rows(block, self._losses(block), block.recommended.label)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return mean loss over entropy, NaN if all labels are the same."""
        loss, clicks, n = sums
        varies = (clicks > 0) & (clicks < n)
        xp = namespace(n)
        rate = xp.where(varies, divide(clicks, n), xp.full_like(n, 0.5))
        entropy = -(rate * xp.log(rate) + (1.0 - rate) * xp.log1p(-rate))
        return or_nan(divide(loss, n) / entropy, varies)


@metric(
    "calibration_ratio",
    range=(0, math.inf),
    higher_is_better=None,
    cutoff="none",
    family="rating",
    plain=plain.calibration_ratio,
)
class CalibrationRatio(_OfProbabilities):
    r"""Number of clicks predicted over number of clicks observed; 1 is calibrated in the mean.

    .. math:: \sum \hat p \, / \sum y

    Over all items of all lists: :math:`\hat p` is the score, y is 1 if the item is relevant, else
    0. Above 1, probabilities are too high. NaN if no item is relevant. Needs scores in [0, 1], or
    logits.

    Notes
    -----
    Use it to see whether as many clicks were predicted as were made. Do not take 1 for calibrated:
    too high for some users and too low for others cancel out. Evaluate it ``by=`` groups.

    References
    ----------
    He et al. 2014, Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 0.5, 2: 0.25}}, {"ann": {1}}, "calibration_ratio")["calibration_ratio"]
    0.75
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the probability sum, and the numbers of relevant rows and of rows, (U,) each."""
        return _sums_and_rows(block, self._probabilities(block), block.recommended.label)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return predicted over observed clicks, NaN without any."""
        predicted, clicks, _ = sums
        return ratio(predicted, clicks)


@dataclass(frozen=True, kw_only=True, repr=False)
class _InBins(_OfProbabilities):
    """A function of the rows, the sum of the labels and the gap in each bin of probabilities.

    The gap is the sum of probabilities minus the sum of labels. A bin is open on the left and
    closed on the right.

    Parameters
    ----------
    n_bins : int, default=10
        The number of bins.
    bins : {"equal_width", "equal_mass"}, default="equal_width"
        Bins of the same width, or, as nearly as ties allow, with the same number of rows: the edges
        are the quantiles of the scores of all lists, of whatever user, and the same in every group
        of users. Equal mass needs all lists at once (`rankwise.evaluate` and
        `rankwise.evaluate_ratings`); on other engines, pass ``edges``.
    edges : list of float, default=[]
        The inner edges of the bins, ascending, in place of ``n_bins`` and ``bins``.
    """

    n_bins: Annotated[int, _FROM_1] = 10
    bins: Literal["equal_width", "equal_mass"] = "equal_width"
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that edges ascend between 0 and 1, and that nothing else says where bins end."""
        super().__post_init__()
        if not self.edges:
            return
        ends = (0.0, *self.edges, 1.0)
        if any(low >= high for low, high in pairwise(ends)):
            raise ParameterError(
                f"{self.name}: edges must ascend, and lie above 0 and below 1",
                found=f"edges={self.edges}",
            )
        if self.n_bins != type(self).n_bins or self.bins != type(self).bins:
            raise ParameterError(
                f"{self.name}: edges are in place of n_bins and bins",
                found=str(self),
                hint=f"write {self.name}(edges=[…]) or {self.name}(n_bins=…,bins=…)",
            )

    _quantiles: ClassVar[Floats | None] = None
    """The inner edges of equal mass, in a metric that `with_scores` made."""

    def with_scores(self, scores: Floats) -> Self:
        """Return the metric with edges of equal mass if its bins need edges."""
        if self.edges or self.bins == "equal_width" or not len(scores):
            return self
        probabilities = _sigmoid(scores) if self.scores == "logits" else scores
        copy = type(self)(**self.parameters)
        quantiles = np.quantile(probabilities, np.arange(1, self.n_bins) / self.n_bins)
        object.__setattr__(copy, "_quantiles", quantiles)
        return copy

    def require_scores(self) -> None:
        """Raise if edges are quantiles of all scores, and these are not known."""
        if not self.edges and self.bins == "equal_mass" and self._quantiles is None:
            raise MetricError(
                f"{self.name}(bins=equal_mass) needs the scores of all lists at once",
                found="lists in pieces, on PyTorch or on Spark",
                hint=f"use {call('evaluate')}, or say where bins end, as in "
                f"{self.name}(edges=[0.01,0.05])",
            )

    @property
    def _inner_edges(self) -> Floats:
        """The inner edges of the bins, in ascending order."""
        self.require_scores()
        if self._quantiles is not None:
            return self._quantiles
        return np.asarray(
            self.edges or [number / self.n_bins for number in range(1, self.n_bins)],
            dtype=np.float64,
        )

    def _bin_sums(self, block: Block, probabilities: Array) -> Sums:
        """Return the rows of each bin, then the labels and then the gaps, arrays of shape (U,)."""
        rows, xp = block.recommended, block.xp
        edges = xp.asarray(self._inner_edges, dtype=xp.float64)
        n_bins = edges.shape[0] + 1
        cell = rows.user * n_bins + xp.searchsorted(edges, probabilities)
        columns = (xp.ones_like(probabilities), rows.label, probabilities - rows.label)
        sums = (
            xp.reshape(bincount(cell, c, block.n_users * n_bins), (block.n_users, n_bins))
            for c in columns
        )
        return tuple(matrix[:, number] for matrix in sums for number in range(n_bins))

    def sums(self, block: Block, k: int) -> Sums:
        """Return rows, labels and gaps by bin, arrays of shape (U,)."""
        return self._bin_sums(block, self._probabilities(block))


def _by_bin(sums: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return rows, labels and gaps, each of shape (n_bins, …)."""
    columns = [np.float64(column) if isinstance(column, float) else column for column in sums]
    xp, size = namespace(*columns), len(columns) // 3
    n, labels, gaps = (xp.stack(columns[at : at + size]) for at in range(0, 3 * size, size))
    return n, labels, gaps


@metric(
    "ece",
    "expected_calibration_error",
    range=(0, 1),
    higher_is_better=False,
    cutoff="none",
    family="rating",
    plain=plain.expected_calibration_error,
)
class ExpectedCalibrationError(_InBins):
    r"""Expected calibration error: gap between predicted and observed click rates, over bins.

    .. math:: \sum_b \frac{n_b}{n} \left|\bar p_b - \bar y_b\right|, \quad
              \text{l2: } \sqrt{\sum_b \frac{n_b}{n} \left(\bar p_b - \bar y_b\right)^2}

    The n items of all lists are divided into bins b by their score; :math:`\bar p_b` is the mean
    score of the :math:`n_b` items of a bin, :math:`\bar y_b` the share of them that is relevant.
    Needs scores in [0, 1], or logits.

    A calibrated model has a positive value, because :math:`\bar y_b` has an error: with 10 bins of
    100 rows each and rates around 0.2, some 0.03. ``debiased=true`` subtracts what this error adds,
    taking rows for independent; with ``norm=l2`` the mean of the squared value over samples is then
    right, unless it is cut off at 0. `calibration_error` is another metric: how far the categories
    of a list are from those of the user's history.

    Parameters
    ----------
    norm : {"l1", "l2"}, default="l1"
        The mean of the absolute gaps, or the root of the mean of their squares.
    debiased : bool, default=False
        Subtracts what the randomness of labels adds. From a squared gap:
        :math:`\bar y_b (1 - \bar y_b) / (n_b - 1)`; a bin of one row counts 0. From an absolute gap
        d: :math:`E|d + e| - d` for a normal e of the variance
        :math:`\bar y_b (1 - \bar y_b) / n_b`, which removes less than half of the bias of a
        calibrated model. A value below 0 is 0.

    Notes
    -----
    Use it for the gap between predicted and observed rates, bin by bin. Do not take a value above 0
    for miscalibration: sampling alone gives one. With rare clicks use ``bins=equal_mass``; compare
    models on the same rows.

    References
    ----------
    Naeini, Cooper & Hauskrecht 2015, Obtaining Well Calibrated Probabilities Using Bayesian
    Binning, AAAI; debiased: Kumar, Liang & Ma 2019, Verified Uncertainty Calibration, NeurIPS.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": {1: 0.2, 2: 0.3}, "bob": {1: 0.9, 2: 0.8}}
    >>> rw.evaluate(lists, {"ann": {2}, "bob": {1, 2}}, "ece(n_bins=2)")["ece(n_bins=2)"]
    0.2
    """

    jackknife_caveat = "a calibration error near 0 is biased upwards, and its interval with it"
    norm: Literal["l1", "l2"] = "l1"
    debiased: bool = False

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the mean gap, NaN without rows."""
        n, labels, gaps = _by_bin(sums)
        xp = namespace(n)
        gap, rate = xp.abs(divide(gaps, n)), divide(labels, n)
        variance = xp.clip(rate * (1.0 - rate), min=0.0)
        if self.norm == "l2":
            bias = xp.where(n > 1, divide(variance, n - 1.0), gap**2)
            terms = gap**2 - bias if self.debiased else gap**2
        else:
            terms = (
                2.0 * gap - _raised_gap(gap, xp.sqrt(divide(variance, n))) if self.debiased else gap
            )
        rows = xp.sum(n, axis=0)
        mean = xp.clip(divide(xp.sum(n * terms, axis=0), rows), min=0.0)
        return or_nan(xp.sqrt(mean) if self.norm == "l2" else mean, rows > 0)

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the sums over users, which must have no weights if the number of rows matters."""
        if self.debiased and users.weights is not None:
            raise MetricError(
                "ece(debiased=true) depends on the number of rows, so users cannot have weights",
                found=str(self),
                hint=f"leave {parameter('weights')} or debiased out",
            )
        return super().reduce(users)


def _raised_gap(gap: Array, error: Array) -> Array:
    """Return the mean absolute value of normal numbers with these means and standard deviations."""
    xp, z = namespace(gap), divide(gap, error)
    if is_tensor(gap):
        erf = xp.erf
    else:
        from scipy.special import erf
    raised = error * math.sqrt(2.0 / math.pi) * xp.exp(-(z**2) / 2.0) + gap * erf(
        z / math.sqrt(2.0)
    )
    return xp.where(error > 0, raised, gap)


@metric(
    "brier",
    "brier_score",
    range=(0, 1),
    higher_is_better=False,
    cutoff="none",
    family="rating",
    plain=plain.brier_score,
)
class Brier(_InBins):
    r"""Brier score: mean squared error of scores that are probabilities, with its parts.

    .. math:: \frac{1}{n} \sum (\hat p - y)^2

    Over all n items of all lists: :math:`\hat p` is the score, y is 1 if the item is relevant, else
    0. Needs scores in [0, 1], or logits.

    The cells are its parts over bins b of the scores, with mean score :math:`\bar p_b` and share of
    relevant items :math:`\bar y_b`; the value is ``reliability`` − ``resolution`` + ``uncertainty``
    + ``within_bins``:

    - ``reliability``, :math:`\sum_b \frac{n_b}{n} (\bar p_b - \bar y_b)^2`: the calibration error;
      smaller is better.
    - ``resolution``, :math:`\sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2`: how far bins differ;
      larger is better.
    - ``uncertainty``, :math:`\bar y (1 - \bar y)`: the score of always predicting the mean rate.
    - ``within_bins``: what the variation of scores inside bins adds, 0 if each bin has one score.

    Notes
    -----
    Use it for how good click probabilities are, all in all; its parts tell calibration from
    discrimination. Do not compare it between data with different click rates: the rate alone moves
    it.

    References
    ----------
    Brier 1950, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review
    78(1); Murphy 1973, A New Vector Partition of the Probability Score, Journal of Applied
    Meteorology 12(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": {1: 0.25, 2: 0.25}, "bob": {1: 0.75, 2: 0.75}}
    >>> result = rw.evaluate(lists, {"ann": {2}, "bob": {1, 2}}, "brier")
    >>> result["brier"], result["brier[part=reliability]"], result["brier[part=resolution]"]
    (0.1875, 0.0625, 0.0625)
    """

    def sums(self, block: Block, k: int) -> Sums:
        """Return the sum of squared errors, then rows, labels and gaps by bin, shape (U,) each."""
        probabilities, rows = self._probabilities(block), block.recommended
        squares = bincount(rows.user, (probabilities - rows.label) ** 2, block.n_users)
        return squares, *self._bin_sums(block, probabilities)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the mean squared error, NaN without rows."""
        squares, *bins = sums
        n, _, _ = _by_bin(bins)
        rows = namespace(n).sum(n, axis=0)
        return ratio(squares, rows)

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the mean squared error, and its parts as cells."""
        _, *bins = (total.value for total in aggregates.users.cells[self.cells[at]])
        whole = super().finalise(aggregates, at)
        assert whole is not None
        assert whole.value is not None
        n, labels, gaps = _by_bin(bins)
        share, rate = divide(n, n.sum()), divide(labels.sum(), n.sum())
        reliability = float((share * divide(gaps, n) ** 2).sum())
        resolution = float((share * (divide(labels, n) - rate) ** 2).sum())
        uncertainty = float(rate * (1.0 - rate))
        within = whole.value - (reliability - resolution + uncertainty)
        parts = {
            "reliability": reliability,
            "resolution": resolution,
            "uncertainty": uncertainty,
            "within_bins": within,
        }
        return CellValues(
            whole.value,
            {label(part=part): value if n.sum() else math.nan for part, value in parts.items()},
        )


@metric(
    "reliability_curve",
    range=(0, math.inf),
    higher_is_better=None,
    cutoff="none",
    family="rating",
    plain=plain.reliability_curve,
)
class ReliabilityCurve(_InBins):
    r"""Reliability curve: predicted and observed click rate in each bin of the scores.

    .. math:: \left(\bar p_b, \bar y_b\right) = \left(\frac{1}{n_b} \sum_b \hat p, \; \frac{1}{n_b} \sum_b y\right)

    The items of all lists are divided into bins b by their score :math:`\hat p`; y is 1 if the item
    is relevant, else 0. Cells alone, for each ``bin``: its ends ``low`` and ``high``, the number of
    ``rows``, the mean score ``predicted`` and the share of relevant items ``observed`` (both NaN in
    an empty bin). ``result.table`` has one row per bin, and ``result.plot.reliability()`` draws the
    curve. Needs scores in [0, 1], or logits.

    Notes
    -----
    Use it to see where probabilities are too high or too low, one bin after the other. Do not use
    it as one number for a ranking of models: ``ece`` and ``brier`` are. Bins of few rows are noise.

    References
    ----------
    DeGroot & Fienberg 1983, The Comparison and Evaluation of Forecasters, The Statistician 32(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": {1: 0.25, 2: 0.5}, "bob": {1: 0.75}}
    >>> result = rw.evaluate(lists, {"ann": {2}, "bob": {1}}, "reliability_curve(n_bins=2)")
    >>> result.table("reliability_curve(n_bins=2)").rows()
    [('1', 0.0, 0.5, 2.0, 0.375, 0.5), ('2', 0.5, 1.0, 1.0, 0.75, 1.0)]
    """

    cells_only = True
    has_user_values = False

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the numbers of each bin as cells."""
        n, labels, gaps = _by_bin([total.value for total in aggregates.users.cells[self.cells[at]]])
        predicted, observed = (ratio(sums, n) for sums in (labels + gaps, labels))
        ends = [0.0, *self._inner_edges.tolist(), 1.0]
        numbers = {
            "low": ends[:-1],
            "high": ends[1:],
            "rows": n,
            "predicted": predicted,
            "observed": observed,
        }
        return CellValues(
            None,
            {
                label(bin=str(at + 1), of=name): float(values[at])
                for at in range(len(n))
                for name, values in numbers.items()
            },
        )
