"""The engine: ids, lists, hits, blocks and partial results. It knows no measure by name."""
