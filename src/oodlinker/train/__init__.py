"""The one loop; never handed a test world."""
