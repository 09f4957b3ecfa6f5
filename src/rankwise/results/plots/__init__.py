"""Charts of results and comparisons, in notebooks and in reports."""
