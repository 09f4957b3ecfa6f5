r"""Rates of the confusion matrix of one list: accuracy, Matthews correlation, fall-out.

For each user, every item of the catalogue :math:`I` is one of TP (relevant, in the top k), FP (not
relevant, in the top k), FN (relevant, not in the top k) or TN (neither). With tied scores these
numbers are expected values. Users without relevant items have no value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block
from rankwise.measures.arithmetic import divide, or_nan, retrieved
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import Pooled, Sums
from rankwise.measures.measure import measure

__all__ = ["FallOut", "ListAccuracy", "MatthewsCorrelation"]


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
        return _Sums(tp, retrieved(block, k) - tp, block.n_relevant - tp, block.list_length - n_hits)


@measure("list_accuracy", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.accuracy_at_k)
class ListAccuracy(_OfConfusion):
    r"""Share of the catalogue that is recommended and relevant, or neither.

    .. math:: \frac{TP + TN}{|I|}

    TP is the number of relevant items in the top k, TN the number of items of the catalogue
    :math:`I` that are neither relevant nor in the top k. Close to 1 for any short list of a large
    catalogue. Range [0, 1]; higher is better. The catalogue is ``items``, or by default all items
    seen.

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


@measure("mcc", "matthews_correlation", range=(-1, 1), higher_is_better=True, family="accuracy", plain=plain.mcc_at_k)
class MatthewsCorrelation(_OfConfusion):
    r"""Matthews correlation coefficient of being recommended and being relevant.

    .. math:: \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP + FP)(TP + FN)(TN + FP)(TN + FN)}}

    The items of the catalogue are counted as TP (relevant, in the top k), FP (not relevant, in the
    top k), FN (relevant, not in the top k) or TN (neither); with tied scores these are expected
    numbers. 0 where a factor of the denominator is 0. Range [-1, 1]; higher is better; 0 for a
    random list.
    The catalogue is ``items``, or by default all items seen.

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
        squared = (s.tp + s.fp) * (s.tp + s.fn) * (tn + s.fp) * (tn + s.fn)
        return divide(s.tp * tn - s.fp * s.fn, namespace(s.tp).sqrt(squared))


@measure(
    "fallout", "fall_out", "fpr", range=(0, 1), higher_is_better=False, family="accuracy", plain=plain.fallout_at_k
)
class FallOut(_OfConfusion):
    r"""Fall-out, the false positive rate: share of the irrelevant items that is in the top k.

    .. math:: \frac{FP}{FP + TN}

    FP is the number of irrelevant items in the top k, TN the number of all other irrelevant items.
    Users for whom every item is relevant have no value. Range [0, 1]; lower is better. The
    catalogue is ``items``, or by default all items seen. 0, the best value, is also that of a user
    without a list, and with ``undefined="zero"`` that of a user without relevant items, whatever
    the list: with ``population="both"`` neither is in the mean.

    Parameters
    ----------
    negatives : {"catalogue", "listed"}, default="catalogue"
        Which irrelevant items FP + TN counts: all of the catalogue, or only those in the
        recommendation list, at any rank (as in TorchMetrics, where a list without any scores 0).

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
        return or_nan(divide(s.fp, negatives), negatives > 0)
