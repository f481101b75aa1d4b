"""How many threads a call takes."""

import pytest
import torch

from oodlinker.infer.threads import ONE_THREAD_LINKS, used_threads


@pytest.mark.parametrize(
    ("asked", "links", "expected"),
    [(None, 10, 1), (None, ONE_THREAD_LINKS, 3), (2, 10, 2), (2, ONE_THREAD_LINKS, 2)],
)
def test_small_graphs_take_one_thread_unless_asked(asked, links, expected):
    """Two threads are slower than one on small steps, far slower on busy cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with used_threads(asked, links):
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
