"""The engine: ids, lists, hits, blocks and partials. It knows no measure by name."""
