"""Node features: fitted on the past of the training world only."""
