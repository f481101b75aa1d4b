import pytest
import torch

from oodlinker.graph.hold_out import hold_out
from oodlinker.graph.past import Past
from small_graphs import random_graph, world_of


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_prefixes_say_what_a_slow_count_says(kind):
    world = hold_out(random_graph(1, kind, links=120), split=(4, 2, 2)).train
    past = Past.of(world)
    for step in range(world.num_steps + 1):
        links = [
            (src, dst)
            for src, dst, when in zip(
                world.src.tolist(), world.dst.tolist(), world.step_of_link.tolist(), strict=True
            )
            if when < step
        ]
        both = links + [(dst, src) for src, dst in links]
        ends = {dst for _, dst in links} if kind == "bipartite" else {one for one, _ in both}
        assert set(past.pool[: int(past.pool_size[step])].tolist()) == ends
        for node in range(world.num_nodes):
            met = {
                other
                for one, other in (both if kind == "undirected" else links)
                if one == node and other != node
            }
            count = int(past.partners_before(torch.tensor([node]), step))
            start = int(past.start[node])
            assert set(past.partner[start : start + count].tolist()) == met
            assert count == len(met)


def test_a_pair_that_never_meets_has_no_place():
    past = Past.of(world_of([(0, 1, 0, 0), (0, 2, 1, 0)], nodes=4, steps=2))
    place = past.place_of(torch.tensor([0, 0, 0, 3]), torch.tensor([1, 2, 3, 0]))
    assert place[:2].tolist() == [0, 1]
    assert bool((place[2:] >= past.partner.numel()).all())


def test_a_world_without_links_has_an_empty_past():
    past = Past.of(world_of([], nodes=3, steps=2))
    assert past.pool_size.tolist() == [0, 0, 0]
    assert past.partners_before(torch.tensor([0, 1, 2]), 1).tolist() == [0, 0, 0]
