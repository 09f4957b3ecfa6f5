"""Audit of existing splits for leakage and common mistakes: checks L1 to L21."""
