"""The static plan of a history: who is active when, and which link adds to whom.

A *row* is an active (node, step) pair: the only place where running sums change. Row 0 is the
empty history; the rows of step t follow in the order of nodes. Everything here is made once from
the links alone and holds no learning.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.graph.worlds import World

EMPTY = 0  # the row of a node without history


@dataclass(frozen=True, eq=False)
class StepPlan:
    """One step: its active nodes, and its links by their places among them.

    Undirected links add to both ends. Directed ones keep two slots a node: sums over the links
    that leave it and over those that reach it.

    Args:
        nodes: active nodes, ascending.
        src: row (within the step) of each link's source.
        dst: row of each link's target.
        entry_slot: row times slots plus slot that each message is added to.
        entry_other: row whose features the message carries.
        entry_link: link that weighs the message.
        slots: 1 undirected, 2 directed.
    """

    nodes: Int64[Tensor, " row"]
    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]
    entry_slot: Int64[Tensor, " entry"]
    entry_other: Int64[Tensor, " entry"]
    entry_link: Int64[Tensor, " entry"]
    slots: int

    @classmethod
    def of(
        cls, src: Int64[Tensor, " link"], dst: Int64[Tensor, " link"], *, directed: bool
    ) -> "StepPlan":
        """Plan the links of one step."""
        nodes, place = torch.unique(torch.cat([src, dst]), return_inverse=True)
        first, second = place.split([src.numel(), dst.numel()])
        link = torch.arange(src.numel(), device=src.device)
        if directed:
            slot = torch.cat([2 * first, 2 * second + 1])
            other, both = torch.cat([second, first]), torch.cat([link, link])
        else:
            distinct = first != second  # a self-loop is added once
            slot = torch.cat([first, second[distinct]])
            other = torch.cat([second, first[distinct]])
            both = torch.cat([link, link[distinct]])
        order = slot.argsort(stable=True)  # receivers in a row: writes stay in the cache
        slots = 2 if directed else 1
        return cls(nodes, first, second, slot[order], other[order], both[order], slots)

    @property
    def num_rows(self) -> int:
        """How many nodes are active."""
        return int(self.nodes.numel())


@dataclass(frozen=True, eq=False)
class LinkPlan:
    """All steps of a world: rows in the order of time, each knowing the row before it.

    Args:
        steps: the plan of each step.
        row_ptr: rows of step t are row_ptr[t] to row_ptr[t + 1]; row 0 comes before them.
        link_ptr: links of step t.
        row_node: node of each row (-1 for row 0).
        row_step: step of each row (-1 for row 0).
        previous: last earlier row of the same node, or 0.
        src: row of each link's source.
        dst: row of each link's target.
    """

    steps: tuple[StepPlan, ...]
    row_ptr: tuple[int, ...]
    link_ptr: tuple[int, ...]
    row_node: Int64[Tensor, " row"]
    row_step: Int64[Tensor, " row"]
    previous: Int64[Tensor, " row"]
    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]

    @classmethod
    def of(cls, world: World) -> "LinkPlan":
        """Plan a world's history."""
        steps = tuple(
            StepPlan.of(step.src, step.dst, directed=world.directed)
            for step in map(world.step, range(world.num_steps))
        )
        row_ptr = [1]
        for plan in steps:
            row_ptr.append(row_ptr[-1] + plan.num_rows)
        outside = torch.tensor([-1])
        node = torch.cat([outside, *(plan.nodes for plan in steps)])
        sizes = torch.tensor([1, *(plan.num_rows for plan in steps)])
        step = torch.arange(-1, len(steps)).repeat_interleave(sizes)
        offsets = list(zip(steps, row_ptr, strict=False))
        return cls(
            steps,
            tuple(row_ptr),
            world.step_ptr,
            node,
            step,
            _previous_rows(node, step),
            torch.cat([plan.src + offset for plan, offset in offsets] or [node[:0]]),
            torch.cat([plan.dst + offset for plan, offset in offsets] or [node[:0]]),
        )

    @property
    def slots(self) -> int:
        """Sums a node keeps: 1 undirected, 2 directed."""
        return self.steps[0].slots if self.steps else 1

    def rows_of(self, step: int) -> slice:
        """The rows of one step."""
        return slice(self.row_ptr[step], self.row_ptr[step + 1])

    def links_of(self, step: int) -> slice:
        """The links of one step."""
        return slice(self.link_ptr[step], self.link_ptr[step + 1])

    def last_row(
        self, node: Int64[Tensor, " end"], step: Int64[Tensor, " end"]
    ) -> Int64[Tensor, " end"]:
        """The last row of each node up to and with a step; row 0 where there is none."""
        keys, rows = self._by_node
        place = torch.searchsorted(keys, _key(node, step), right=True) - 1
        row = rows.index_select(0, place.clamp(min=0))
        return torch.where(self.row_node.index_select(0, row) == node, row, EMPTY)

    @cached_property
    def _by_node(self) -> tuple[Tensor, Tensor]:
        return torch.sort(_key(self.row_node, self.row_step))


def _key(node: Tensor, step: Tensor) -> Tensor:
    return (node << 32) | (step + 1)


def _previous_rows(node: Tensor, step: Tensor) -> Tensor:
    order = torch.sort(_key(node, step)).indices
    same = node[order[1:]] == node[order[:-1]]
    previous = torch.full_like(node, EMPTY)
    previous[order[1:]] = torch.where(same, order[:-1], EMPTY)
    return previous
