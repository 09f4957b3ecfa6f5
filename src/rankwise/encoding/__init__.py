"""Tables to `Encoded`: ids become codes, rows become ranked lists, facts become arrays."""
