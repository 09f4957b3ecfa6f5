"""Models that can be evaluated, and baselines to beat."""
