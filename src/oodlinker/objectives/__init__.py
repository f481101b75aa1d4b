"""Pure functions from terms to a loss."""
