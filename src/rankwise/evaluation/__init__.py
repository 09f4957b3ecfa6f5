"""From recommendations and ground truth to a `Result`, at once or in chunks."""
