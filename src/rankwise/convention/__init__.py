"""Conventions: named sets of choices, such as how a library defines nDCG@10."""
