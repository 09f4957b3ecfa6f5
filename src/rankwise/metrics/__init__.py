"""The metrics: one module a family, found by the registry."""
