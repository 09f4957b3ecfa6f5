"""Data sets: so far one that is made, not loaded."""

from rankwise.datasets.synthetic import Dataset, synthetic

__all__ = ["Dataset", "synthetic"]
