"""CPU threads of one call."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Below so many links a step is too little work to share: measured on two cores beside other work,
# two threads took 1.4 to 1.7 times as long as one up to 150,000 links, and many times as long when
# the cores were busy.
ONE_THREAD_LINKS = 200_000


@contextmanager
def used_threads(threads: int | None, links: int) -> Iterator[None]:
    """Compute with so many CPU threads while the block runs.

    Args:
        threads: as asked; None takes one for few links and leaves torch's setting for many.
        links: how many links are read.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads or (1 if links < ONE_THREAD_LINKS else before))
    try:
        yield
    finally:
        torch.set_num_threads(before)
