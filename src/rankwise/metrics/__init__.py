"""The measures: one module a family, found by the registry."""
