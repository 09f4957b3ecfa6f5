"""Splits of interactions into training and test, without leakage."""
