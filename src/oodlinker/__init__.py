"""oodlinker: temporal link prediction that survives distribution shift."""

__version__ = "0.1.0"
