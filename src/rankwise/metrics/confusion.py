"""The confusion matrix: counts and rates of recommended and relevant items; micro-averages.

Notation: :math:`L_u^k` is the top k of user u's recommendation list, :math:`R_u` the user's
relevant items in the ground truth.

Rates of the confusion matrix of one list: accuracy, Matthews correlation, fall-out.

For each user, every item of the catalogue :math:`I` is one of TP (relevant, in the top k), FP (not
relevant, in the top k), FN (relevant, not in the top k) or TN (neither). With tied scores these
numbers are expected values. Users without relevant items have no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from rankwise import functional as plain
from rankwise.blocks.block import Block
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.errors import ParameterError
from rankwise.metrics.accuracy import Recall
from rankwise.metrics.arithmetic import divide, matthews_correlation, n_in_top, or_nan, ratio
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.composite_kinds import DerivedMetric
from rankwise.metrics.inputs import Input
from rankwise.metrics.kinds import PerUser, Pooled, Sums

__all__ = ["FN", "FP", "TN", "TP", "FallOut", "ListAccuracy", "MatthewsCorrelation", "MicroAverage"]


class _Count(PerUser):
    """A number of items, summed over users.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.
    """

    defined_for = "user"
    aggregate = "sum"


@metric(
    "tp", "true_positives", range=(0, math.inf), higher_is_better=True, plain=plain.confusion_at_k
)
class TP(_Count):
    r"""Number of recommended and relevant items, over all users.

    .. math:: \sum_u |L_u^k \cap R_u|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items.

    Notes
    -----
    Use it for the number of hits in a check by hand. Do not compare it between data sets: it grows
    with users and relevant items.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "tp@3")["tp@3"]
    2.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of hits, shape (U,)."""
        return block.sum_hits(block.hits.probability, k)


@metric(
    "fp", "false_positives", range=(0, math.inf), higher_is_better=False, plain=plain.confusion_at_k
)
class FP(_Count):
    r"""Number of recommended items that are not relevant, over all users.

    .. math:: \sum_u |L_u^k \setminus R_u|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items.

    Notes
    -----
    Use it for the irrelevant recommendations in a check by hand. Do not compare it between data
    sets: it grows with users and k. ``precision`` has the share of the others.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fp@3")["fp@3"]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of misses in the top k, shape (U,)."""
        return n_in_top(block, k) - block.sum_hits(block.hits.probability, k)


@metric(
    "fn", "false_negatives", range=(0, math.inf), higher_is_better=False, plain=plain.confusion_at_k
)
class FN(_Count):
    r"""Number of relevant items that were not recommended, over all users.

    .. math:: \sum_u |R_u \setminus L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items.

    Notes
    -----
    Use it for the missed relevant items in a check by hand. Do not compare it between data sets: it
    grows with users and relevant items. ``recall`` is its share.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "fn@3")["fn@3"]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of relevant items outside the top k, shape (U,)."""
        return block.n_relevant - block.sum_hits(block.hits.probability, k)


@metric(
    "tn", "true_negatives", range=(0, math.inf), higher_is_better=True, plain=plain.confusion_at_k
)
class TN(Pooled):
    r"""Number of items neither recommended nor relevant, over all users.

    .. math:: \sum_u |I \setminus (L_u^k \cup R_u)|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. The catalogue :math:`I` is ``items``, or by default all items seen.

    Notes
    -----
    Use it to complete a confusion matrix. Do not use it to compare systems: nearly all of a large
    catalogue is a true negative for any list.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "tn@3", items=range(20))
    >>> result["tn@3"]
    16.0
    """

    inputs = ("whole_catalogue",)

    def sums(self, block: Block, k: int) -> Sums:
        """Return 1 and the number of recommended or relevant items, shape (U,) both."""
        hits = block.sum_hits(block.hits.probability, k)
        n_either = n_in_top(block, k) + block.n_relevant - hits
        return block.xp.ones_like(n_either), n_either

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return users times catalogue size, minus the recommended or relevant items."""
        n_users, n_either = sums
        return n_users * catalogue_size - n_either


@metric(
    "micro",
    "micro_average",
    range=(0, math.inf),
    higher_is_better=True,
    family="accuracy",
    plain=plain.micro,
)
class MicroAverage(DerivedMetric, Pooled):
    r"""Micro-average of a metric: the sum of users' numerators over that of their denominators.

    .. math:: \frac{\sum_u S_u(k)}{\sum_u N_u(k)}

    The value of user u is :math:`S_u(k) / N_u(k)`: for recall, the number of hits over the number
    of relevant items. Users with many relevant items weigh more. Only users with relevant items
    count. The value lies in the range of the metric.

    Parameters
    ----------
    of : metric, default=recall(denominator=capped)
        A metric that is a sum over hits divided by a norm: recall, precision, map, ndcg, rbp. The
        default, hits over min(k, relevant items), is called precision by the library implicit.

    Notes
    -----
    Use it for the share of all possible hits that was made, all users pooled. Do not use it where
    every user should count the same: users with many relevant items decide it.

    References
    ----------
    Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, section 13.6; implicit,
    ``precision_at_k``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [3, 4]}, {"ann": {1, 2}, "bob": {9}}
    >>> rw.evaluate(lists, truth, "micro(recall)@2")["micro(of=recall)@2"]
    0.66667
    """

    done: ClassVar[str] = "averaged"
    defined_for = "relevance"
    of: Metric = Recall(denominator="capped")

    def _check_of(self) -> None:
        if self.of.as_running_sum is None:
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over hits",
                found=str(self.of),
                hint="recall, precision, ndcg, map, mrr and rbp are",
            )

    def sums(self, block: Block, k: int) -> Sums:
        """Return numerator and denominator of every user, shape (U,) both."""
        of = self.of.as_running_sum
        assert of is not None  # checked when the metric was made
        counts = block.xp.astype(block.n_relevant > 0, block.xp.float64)
        above, below = of.ratio(block, block.sum_hits(of.terms(block), k), k)
        return above * counts, below * counts

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the ratio of the sums; NaN if nothing divides."""
        return ratio(*sums)


class _Sums(NamedTuple):
    tp: Array
    fp: Array
    fn: Array
    listed: Array
    """The number of irrelevant items in the whole list."""


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfConfusion(Pooled):
    """A function of the confusion matrix of each user."""

    defined_for = "relevance"
    mean_of_users = True

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The size of the catalogue."""
        return ("whole_catalogue",)

    def sums(self, block: Block, k: int) -> Sums:
        """Return TP, FP, FN and the irrelevant items of the list, arrays of shape (U,)."""
        hits = block.hits
        tp = block.sum_hits(hits.probability, k)
        n_hits = bincount(hits.user, hits.probability, block.n_users)
        return _Sums(
            tp, self._length(block, k) - tp, block.n_relevant - tp, block.list_length - n_hits
        )

    def _length(self, block: Block, k: int) -> Array:
        """Return the number of items in the top k, shape (U,)."""
        return n_in_top(block, k)


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfFilledLists(_OfConfusion):
    """A function of the confusion matrix in which lists may be filled up to k items.

    Parameters
    ----------
    short_lists : {"as_given", "filled"}, default="as_given"
        What a list with fewer than k items is: as it was given, or filled up to k with items that
        are not relevant (as in RecTools).
    """

    short_lists: Literal["as_given", "filled"] = "as_given"

    def _length(self, block: Block, k: int) -> Array:
        """Return the number of items in the top k, filled places included, shape (U,)."""
        length = n_in_top(block, k)
        return length if self.short_lists == "as_given" else block.xp.zeros_like(length) + k


@metric(
    "list_accuracy",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.accuracy_at_k,
)
class ListAccuracy(_OfFilledLists):
    r"""Share of the catalogue that is recommended and relevant, or neither.

    .. math:: \frac{TP + TN}{|I|}

    TP is the number of relevant items in the top k, TN the number of items of the catalogue
    :math:`I` that are neither relevant nor in the top k. Close to 1 for any short list of a large
    catalogue. The catalogue is ``items``, or by default all items seen.

    Notes
    -----
    Use it for a complete confusion matrix in a small catalogue. Do not use it to choose a model:
    any short list of a large catalogue scores close to 1.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}
    >>> rw.evaluate(lists, truth, "list_accuracy@3", items=range(20))["list_accuracy@3"]
    0.9
    """

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return accuracy."""
        s = _Sums(*sums)
        return 1.0 - (s.fp + s.fn) / catalogue_size


@metric(
    "mcc",
    "matthews_correlation",
    range=(-1, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.mcc_at_k,
)
class MatthewsCorrelation(_OfFilledLists):
    r"""Matthews correlation coefficient of being recommended and being relevant.

    .. math:: \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP + FP)(TP + FN)(TN + FP)(TN + FN)}}

    The items of the catalogue are counted as TP (relevant, in the top k), FP (not relevant, in the
    top k), FN (relevant, not in the top k) or TN (neither); with tied scores these are expected
    numbers. 0 where a factor of the denominator is 0. A random list scores 0. The catalogue is
    ``items``, or by default all items seen.

    Notes
    -----
    Use it for one number over the whole confusion matrix, in which a random list scores 0. Do not
    use it for short lists of a large catalogue: true negatives are nearly all items, and it follows
    precision and recall.

    References
    ----------
    Matthews 1975, Comparison of the Predicted and Observed Secondary Structure of T4 Phage
    Lysozyme, Biochimica et Biophysica Acta 405(2); for lists: RecTools, ``MCC``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}
    >>> rw.evaluate(lists, truth, "mcc@3", items=range(20))["mcc@3"]
    0.60784
    """

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the correlation."""
        s = _Sums(*sums)
        tn = catalogue_size - s.tp - s.fp - s.fn
        return matthews_correlation(s.tp, s.fp, s.fn, tn)


@metric(
    "fallout",
    "fall_out",
    "fpr",
    range=(0, 1),
    higher_is_better=False,
    family="accuracy",
    plain=plain.fallout_at_k,
)
class FallOut(_OfConfusion):
    r"""Fall-out, the false positive rate: share of the irrelevant items that is in the top k.

    .. math:: \frac{FP}{FP + TN}

    FP is the number of irrelevant items in the top k, TN the number of all other irrelevant items.
    Users for whom every item is relevant have no value. The catalogue is ``items``, or by default
    all items seen. 0, the best value, is also that of a user without a list, and with
    ``undefined="zero"`` that of a user without relevant items, whatever the list: with
    ``population="both"`` neither is in the mean.

    Parameters
    ----------
    negatives : {"catalogue", "listed"}, default="catalogue"
        Which irrelevant items FP + TN counts: all of the catalogue, or only those in the
        recommendation list, at any rank (as in TorchMetrics).
    without_irrelevant : {"undefined", "one"}, default="undefined"
        The value of a user for whom every item is relevant: none; or 1, and users without relevant
        items have a value as well (as in TorchMetrics).

    Notes
    -----
    Use it beside recall, as the other axis of an ROC curve, in a small catalogue. Do not use it in
    a large catalogue: k items of a million are next to nothing, so it hardly varies.

    References
    ----------
    Swets 1963, Information Retrieval Systems, Science 141; TorchMetrics, ``RetrievalFallOut``.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "fallout(negatives=listed)@3"
    >>> rw.evaluate({"ann": [1, 3, 5, 7]}, {"ann": {1, 5}}, name)[name]
    0.5
    """

    negatives: Literal["catalogue", "listed"] = "catalogue"
    without_irrelevant: Literal["undefined", "one"] = "undefined"

    @property
    def defined_for(self) -> Literal["relevance", "user"]:  # type: ignore[override]
        """Users with relevant items, or every user."""
        return "relevance" if self.without_irrelevant == "undefined" else "user"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The size of the catalogue, if irrelevant items are counted there."""
        return super().inputs if self.negatives == "catalogue" else ()

    @property
    def reads_below_k(self) -> bool:  # type: ignore[override]
        """Whether irrelevant items of the whole list are counted."""
        return self.negatives == "listed"

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return fall-out; NaN without irrelevant items."""
        s = _Sums(*sums)
        negatives = catalogue_size - s.tp - s.fn if self.negatives == "catalogue" else s.listed
        share = divide(s.fp, negatives)
        if self.without_irrelevant == "undefined":
            return or_nan(share, negatives > 0)
        xp = namespace(share)
        return xp.where(negatives > 0, share, xp.ones_like(share))
