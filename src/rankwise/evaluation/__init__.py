"""Recommendations and ground truth to a `Result`, at once or in pieces."""
