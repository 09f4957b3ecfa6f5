"""Statistics over arrays: nothing here knows of measures, tables or results."""
