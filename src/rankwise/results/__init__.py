"""Results: values, per-user values, confidence intervals, comparisons and their displays."""
