"""Comparisons of results: pairs of systems, margins, power, and decisions."""
