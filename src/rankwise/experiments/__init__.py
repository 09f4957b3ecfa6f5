"""One YAML file that says what to evaluate, compare and write."""
