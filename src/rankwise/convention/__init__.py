"""Conventions: what a name such as nDCG@10 means to a library, as named sets of choices."""
