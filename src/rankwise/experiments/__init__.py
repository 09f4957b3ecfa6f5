"""Experiments from one YAML file with data, systems, metrics, comparisons and outputs."""
