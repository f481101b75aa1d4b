"""CPU threads of one call."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def used_threads(threads: int | None) -> Iterator[None]:
    """Compute with so many CPU threads while the block runs; None leaves torch's setting."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
