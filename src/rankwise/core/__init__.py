"""Arguments, arrays, ids, rows by user, kernels, digests, and tables for readers."""

__version__ = "0.1.0"
