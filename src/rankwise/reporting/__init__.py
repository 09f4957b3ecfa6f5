"""Charts of results and comparisons, and the HTML report: one file that opens without a network."""
