"""What tests of methods need: the contract as a function, and small random worlds to run it on."""

from oodlinker.testing.contract import RULES, check_method
from oodlinker.testing.random_world import edit_future, random_pairs, random_world, relabel

__all__ = ["RULES", "check_method", "edit_future", "random_pairs", "random_world", "relabel"]
