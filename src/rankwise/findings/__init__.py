"""One finding, said once: rows of differences, their verdicts, and how readers are told."""
