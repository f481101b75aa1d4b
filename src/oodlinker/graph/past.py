"""Past: who had met whom, and who had been seen, before any step of a world."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.graph.worlds import World


@dataclass(frozen=True, eq=False)
class Past:
    """What a world's links say of the time before each step, as prefixes of sorted columns.

    Links of later steps move nothing in a prefix, so what is read of the past depends on the past
    alone.

    Args:
        num_steps: how many steps the world has.
        partner: distinct partners of each node (directed and bipartite: targets of each source),
            sorted by node, then by the step of their first link.
        met: node * (num_steps + 1) + that step, for each of them.
        start: where each node's partners begin; one entry more than nodes.
        pair_code: node * num_nodes + partner of each such pair, sorted.
        pair_place: its place in `partner`.
        pool: nodes that can be a target, in the order in which they are first seen.
        pool_place: place of each node in `pool`; `num_nodes` for nodes that are never seen.
        pool_size: how many of the pool are seen before each step.
    """

    num_steps: int
    partner: Int64[Tensor, " pair"]
    met: Int64[Tensor, " pair"]
    start: Int64[Tensor, " bound"]
    pair_code: Int64[Tensor, " pair"]
    pair_place: Int64[Tensor, " pair"]
    pool: Int64[Tensor, " seen"]
    pool_place: Int64[Tensor, " node"]
    pool_size: Int64[Tensor, " bound_of_step"]

    @classmethod
    def of(cls, world: World) -> "Past":
        """Sort the links of a world."""
        src, dst, step = world.src, world.dst, world.step_of_link
        if world.kind == "undirected":
            src, dst, step = torch.cat([src, dst]), torch.cat([dst, src]), step.repeat(2)
        nodes, steps = max(world.num_nodes, 1), world.num_steps
        apart = src != dst
        code, row = torch.unique(src[apart] * nodes + dst[apart], return_inverse=True)
        met = (code // nodes) * (steps + 1) + _first(row, step[apart], code.numel(), steps)
        order = torch.argsort(met, stable=True)
        pool, place, size = _pool(world)
        return cls(
            num_steps=steps,
            partner=code[order] % nodes,
            met=met[order],
            start=torch.searchsorted(code // nodes, torch.arange(nodes + 1)),
            pair_code=code,
            pair_place=torch.argsort(order),
            pool=pool,
            pool_place=place,
            pool_size=size,
        )

    def partners_before(self, nodes: Int64[Tensor, " row"], step: int) -> Int64[Tensor, " row"]:
        """How many distinct partners nodes have before a step; they come first in `partner`."""
        return torch.searchsorted(self.met, nodes * (self.num_steps + 1) + step) - self.start[nodes]

    def place_of(
        self, nodes: Int64[Tensor, " row"], partners: Int64[Tensor, " row"]
    ) -> Int64[Tensor, " row"]:
        """The place of a partner among a node's own; one beyond all where they never meet."""
        beyond = self.partner.numel()
        if not beyond:
            return torch.zeros_like(nodes)
        code = nodes * self.pool_place.numel() + partners
        found = torch.searchsorted(self.pair_code, code).clamp(max=beyond - 1)
        place = self.pair_place[found] - self.start[nodes]
        return torch.where(self.pair_code[found] == code, place, beyond)


def _pool(world: World) -> tuple[Tensor, Tensor, Tensor]:
    """Possible targets in the order in which they are first seen, their places, sizes by step."""
    nodes, steps, step = world.num_nodes, world.num_steps, world.step_of_link
    ends, when = world.dst, step
    if world.kind != "bipartite":
        ends, when = torch.cat([world.src, world.dst]), step.repeat(2)
    seen = _first(ends, when, nodes, steps)
    pool = torch.argsort(seen, stable=True)
    pool = pool[seen[pool] < steps]
    place = torch.full((nodes,), nodes)
    place[pool] = torch.arange(pool.numel())
    return pool, place, torch.searchsorted(seen[pool], torch.arange(steps + 1))


def _first(row: Tensor, step: Tensor, rows: int, never: int) -> Tensor:
    """The earliest step of each row."""
    return torch.full((rows,), never).scatter_reduce(0, row, step, "amin")
