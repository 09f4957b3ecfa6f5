"""Metrics of predicted probabilities, over the (probability, label) pairs of any users.

A label is 1 (clicked, relevant) or 0. With ``scores="logits"`` pairs are (logit, label), and a
logit z stands for the probability 1 / (1 + exp(−z)). All values are NaN without pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import check_option
from rankwise.functional.labels import Pairs
from rankwise.messages import parameter

__all__ = [
    "ReliabilityBin",
    "brier_decomposition",
    "brier_score",
    "calibration_ratio",
    "expected_calibration_error",
    "log_loss",
    "normalised_entropy",
    "reliability_curve",
]

Scores: TypeAlias = Literal["probabilities", "logits"]
Bins: TypeAlias = Literal["equal_width", "equal_mass"]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _probabilities(pairs: Pairs, scores: Scores) -> list[tuple[float, float]]:
    """Return pairs of probability and label."""
    check_option("scores", scores, "probabilities", "logits")
    if scores == "probabilities":
        return [(float(p), float(label)) for p, label in pairs]
    return [(_sigmoid(logit), float(label)) for logit, label in pairs]


def _sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(−x)), without overflow."""
    part = math.exp(-abs(x))
    return (1.0 if x >= 0 else part) / (1.0 + part)


def _softplus(x: float) -> float:
    """Return log(1 + exp(x)), without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def log_loss(pairs: Pairs, *, epsilon: float = 1e-15, scores: Scores = "probabilities") -> float:
    """Binary cross-entropy of (probability, label) pairs, in nats.

    Probabilities are clipped to [epsilon, 1 − epsilon]; those of logits are not.

    >>> round(log_loss([(0.9, 1), (0.2, 0)]), 5)
    0.16425
    >>> log_loss([(-1000, 1)], scores="logits")
    1000.0
    """
    check_option("scores", scores, "probabilities", "logits")
    if scores == "logits":
        return _mean([_softplus(-logit if label else logit) for logit, label in pairs])
    clipped = [(min(max(p, epsilon), 1 - epsilon), label) for p, label in pairs]
    return _mean([-math.log(p if label else 1 - p) for p, label in clipped])


def normalised_entropy(
    pairs: Pairs, *, epsilon: float = 1e-15, scores: Scores = "probabilities"
) -> float:
    """Log loss divided by the entropy of the mean label; NaN if all labels are equal.

    The entropy is the log loss of always predicting the mean.

    >>> round(normalised_entropy([(0.9, 1), (0.2, 0)]), 5)
    0.23697
    """
    rate = _mean([float(label) for _, label in pairs])
    if not 0 < rate < 1:
        return math.nan
    return log_loss(pairs, epsilon=epsilon, scores=scores) / -(
        rate * math.log(rate) + (1 - rate) * math.log(1 - rate)
    )


def calibration_ratio(pairs: Pairs, *, scores: Scores = "probabilities") -> float:
    """Sum of the predicted probabilities over the sum of the labels. NaN if all labels are 0.

    >>> calibration_ratio([(0.5, 1), (0.25, 0)])
    0.75
    """
    predictions, labels = (
        (sum(column) for column in zip(*_probabilities(pairs, scores), strict=True))
        if pairs
        else (0, 0)
    )
    return predictions / labels if labels else math.nan


def brier_score(pairs: Pairs, *, scores: Scores = "probabilities") -> float:
    """Mean squared difference of probability and label.

    >>> brier_score([(0.5, 1), (0.25, 0)])
    0.15625
    """
    return _mean([(p - label) ** 2 for p, label in _probabilities(pairs, scores)])


class ReliabilityBin(NamedTuple):
    """One bin of a reliability curve: its ends, number of rows, mean probability and mean label.

    >>> ReliabilityBin(low=0.0, high=0.1, rows=40, predicted=0.06, observed=0.05).observed
    0.05
    """

    low: float
    high: float
    rows: int
    predicted: float
    observed: float


def reliability_curve(
    pairs: Pairs,
    *,
    n_bins: int = 10,
    bins: Bins = "equal_width",
    edges: Sequence[float] = (),
    scores: Scores = "probabilities",
) -> list[ReliabilityBin]:
    """Mean probability and mean label of the pairs in each bin, left-open and right-closed.

    ``"equal_mass"`` cuts at the quantiles of the probabilities, linearly interpolated; ``edges``
    are inner edges in place of both. A bin without pairs has NaN for both means.

    >>> reliability_curve([(0.25, 0), (0.5, 1), (0.75, 1)], n_bins=2)[0]
    ReliabilityBin(low=0.0, high=0.5, rows=2, predicted=0.375, observed=0.5)
    """
    rows = _probabilities(pairs, scores)
    return [
        ReliabilityBin(low, high, len(inside), *(_mean(column) for column in _columns(inside)))
        for low, high, inside in _binned(rows, n_bins, bins, edges)
    ]


def _columns(rows: Pairs) -> tuple[list[float], list[float]]:
    return [p for p, _ in rows], [label for _, label in rows]


def _binned(
    rows: list[tuple[float, float]], n_bins: int, bins: Bins, edges: Sequence[float]
) -> Iterator[tuple[float, float, list[tuple[float, float]]]]:
    """Yield the ends and the pairs of each bin; 0 is in the first."""
    check_option("bins", bins, "equal_width", "equal_mass")
    if n_bins < 1:
        raise ParameterError("n_bins must be 1 or more", found=parameter("n_bins", n_bins))
    inner = list(edges)
    if not inner and bins == "equal_width":
        inner = [number / n_bins for number in range(1, n_bins)]
    elif not inner and rows:
        inner = _quantiles(sorted(p for p, _ in rows), n_bins)
    ends = [0.0, *inner, 1.0]
    for number, (low, high) in enumerate(pairwise(ends)):
        yield low, high, [row for row in rows if sum(edge < row[0] for edge in inner) == number]


def _quantiles(ordered: Sequence[float], n_bins: int) -> list[float]:
    """Return the inner edges of bins with equally many numbers, linearly interpolated."""
    edges = []
    for number in range(1, n_bins):
        at = number * (len(ordered) - 1) / n_bins
        low = min(int(at), len(ordered) - 1)
        high = min(low + 1, len(ordered) - 1)
        edges.append(ordered[low] + (at - low) * (ordered[high] - ordered[low]))
    return edges


def expected_calibration_error(
    pairs: Pairs,
    *,
    n_bins: int = 10,
    bins: Bins = "equal_width",
    edges: Sequence[float] = (),
    norm: Literal["l1", "l2"] = "l1",
    debiased: bool = False,
    scores: Scores = "probabilities",
) -> float:
    """Mean over the pairs of the gap between mean probability and mean label in their bin.

    With ``norm="l2"``, the mean is the root mean square.

    Bins are those of `reliability_curve`. ``debiased`` subtracts what the randomness of the labels
    adds: from the square of a gap the variance of its mean label; from an absolute gap, by how much
    a normal error of this variance raises it in the mean (Kumar, Liang & Ma 2019). Below 0 the
    value is 0.

    >>> round(expected_calibration_error([(0.2, 0), (0.3, 1), (0.9, 1), (0.8, 1)], n_bins=2), 4)
    0.2
    """
    check_option("norm", norm, "l1", "l2")
    total = 0.0
    for _, _, rows in _binned(_probabilities(pairs, scores), n_bins, bins, edges):
        if not rows:
            continue
        n = len(rows)
        predicted, rate = (_mean(column) for column in _columns(rows))
        gap, variance = abs(predicted - rate), max(rate * (1 - rate), 0.0)
        if norm == "l2":
            term = gap**2 - (
                variance / (n - 1) if debiased and n > 1 else gap**2 if debiased else 0.0
            )
        else:
            term = gap - (_raised_gap(gap, math.sqrt(variance / n)) - gap if debiased else 0.0)
        total += n * term
    mean = max(total / len(pairs), 0.0) if pairs else math.nan
    return math.sqrt(mean) if norm == "l2" else mean


def _raised_gap(gap: float, error: float) -> float:
    """Return the mean absolute value of a normal variable, mean ``gap`` and deviation ``error``."""
    if not error:
        return gap
    z = gap / error
    return error * math.sqrt(2 / math.pi) * math.exp(-(z**2) / 2) + gap * math.erf(z / math.sqrt(2))


def brier_decomposition(
    pairs: Pairs,
    *,
    n_bins: int = 10,
    bins: Bins = "equal_width",
    edges: Sequence[float] = (),
    scores: Scores = "probabilities",
) -> dict[str, float]:
    """Parts of the Brier score over bins: reliability − resolution + uncertainty + within_bins.

    Reliability is the mean squared gap of mean probability and mean label of a bin, resolution that
    of the bin's mean label and all labels' mean, uncertainty the variance of the labels;
    ``within_bins`` is what the variation of probabilities inside bins adds (0 if a bin has one
    probability).

    >>> parts = brier_decomposition([(0.25, 0), (0.25, 1), (0.75, 1), (0.75, 1)], n_bins=2)
    >>> parts["reliability"], parts["resolution"], parts["uncertainty"], parts["within_bins"]
    (0.0625, 0.0625, 0.1875, 0.0)
    """
    rows = _probabilities(pairs, scores)
    if not rows:
        return dict.fromkeys(("reliability", "resolution", "uncertainty", "within_bins"), math.nan)
    rate = _mean([label for _, label in rows])
    reliability = resolution = 0.0
    for _, _, inside in _binned(rows, n_bins, bins, edges):
        if inside:
            predicted, observed = (_mean(column) for column in _columns(inside))
            reliability += len(inside) / len(rows) * (predicted - observed) ** 2
            resolution += len(inside) / len(rows) * (observed - rate) ** 2
    uncertainty = rate * (1 - rate)
    within = brier_score(rows) - (reliability - resolution + uncertainty)
    return {
        "reliability": reliability,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "within_bins": within,
    }
