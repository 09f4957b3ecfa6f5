"""How results and comparisons are displayed."""
