"""Rating prediction errors, from pairs ``[(predicted, true), …]``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rankwise.functional.accuracy import check_option

__all__ = [
    "explained_variance",
    "fraction_of_concordant_pairs",
    "log_loss",
    "mean_absolute_error",
    "mean_squared_error",
    "r2",
    "root_mean_squared_error",
]

Pairs: TypeAlias = Sequence[tuple[float, float]]


def _mean(values: Iterable[float]) -> float:
    terms = list(values)
    return sum(terms) / len(terms) if terms else math.nan


def mean_absolute_error(pairs: Pairs) -> float:
    """Mean of the absolute errors.

    >>> mean_absolute_error([(4, 5), (3, 3)])
    0.5
    """
    return _mean(abs(predicted - true) for predicted, true in pairs)


def mean_squared_error(pairs: Pairs) -> float:
    """Mean of the squared errors.

    >>> mean_squared_error([(4, 6), (3, 3)])
    2.0
    """
    return _mean((predicted - true) ** 2 for predicted, true in pairs)


def root_mean_squared_error(pairs: Pairs) -> float:
    """Square root of the mean squared error.

    >>> root_mean_squared_error([(4, 6), (1, 3)])
    2.0
    """
    return math.sqrt(mean_squared_error(pairs))


def r2(pairs: Pairs) -> float:
    """Coefficient of determination: 1 − squared error over squared deviation from the mean rating.

    >>> r2([(4, 5), (3, 3)])
    0.5
    """
    mean = _mean(true for _, true in pairs)
    spread = sum((true - mean) ** 2 for _, true in pairs)
    error = sum((predicted - true) ** 2 for predicted, true in pairs)
    return 1 - error / spread if spread else math.nan


def explained_variance(pairs: Pairs) -> float:
    """Explained variance: 1 − variance of the error over the variance of the true ratings.

    >>> explained_variance([(4, 5), (3, 4), (2, 2.5)]) > 0.9
    True
    """
    mean = _mean(true for _, true in pairs)
    bias = _mean(true - predicted for predicted, true in pairs)
    spread = sum((true - mean) ** 2 for _, true in pairs)
    residual = sum((true - predicted - bias) ** 2 for predicted, true in pairs)
    return 1 - residual / spread if spread else math.nan


def log_loss(
    pairs: Pairs, *, epsilon: float = 1e-15, scores: Literal["probabilities", "logits"] = "probabilities"
) -> float:
    """Binary cross-entropy of (probability, label) pairs, in nats.

    Probabilities are clipped to [epsilon, 1 − epsilon]. With ``scores="logits"``, pairs are (logit,
    label); a logit stands for the probability 1 / (1 + exp(−logit)), which is not clipped.

    >>> round(log_loss([(0.9, 1), (0.2, 0)]), 5)
    0.16425
    >>> log_loss([(-1000, 1)], scores="logits")
    1000.0
    """
    check_option("scores", scores, "probabilities", "logits")
    if scores == "logits":
        return _mean(_softplus(-logit if label else logit) for logit, label in pairs)
    clipped = [(min(max(p, epsilon), 1 - epsilon), label) for p, label in pairs]
    return _mean(-math.log(p if label else 1 - p) for p, label in clipped)


def _softplus(x: float) -> float:
    """Return log(1 + exp(x)), without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def fraction_of_concordant_pairs(users: Mapping[Any, Pairs]) -> float:
    """Fraction of concordant pairs: item pairs of a user in the correct order, over all users.

    >>> fraction_of_concordant_pairs({"ann": [(4, 5), (3, 3), (3.5, 2)]})
    0.6666666666666666
    """
    concordant = discordant = 0
    for pairs in users.values():
        for predicted, true in pairs:
            for other, other_true in pairs:
                if true > other_true and predicted > other:
                    concordant += 1
                elif true > other_true:
                    discordant += 1
    n = concordant + discordant
    return concordant / n if n else math.nan
