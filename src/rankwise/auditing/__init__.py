"""Checks that find leaks and traps in anyone's split: L1 to L20."""
