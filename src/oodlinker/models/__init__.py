"""Methods: modules that keep the contract of `contract.py`."""
