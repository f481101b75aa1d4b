"""Scoring without training: a trained method, everything that is known, and new pairs."""
