"""Running sums over weighted past links: what a node remembers of its history.

Every node carries, for each slot (one undirected; out and in for directed graphs),

    S = sum p s_w      E = sum p e      C = sum p cos(omega t')      D = sum p sin(omega t')
    M = sum p          R = sum p decay^(t - t')

updated once a link, so that hist_a(t) of Eq. 7, 11 and 13 is read off in constant time.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from oodlinker.nn.link_plan import StepPlan
from oodlinker.nn.time_encoding import TimeEncoding


@dataclass(frozen=True)
class SumParts:
    """Which sums are shown to the networks, and how.

    Args:
        node_dim: width of node features.
        edge_dim: width of link features; 1 with `edge_code = constant`, 0 when off.
        time_dim: width of the time code; 0 when off.
        count: show M.
        decayed_count: show R.
        decay: factor a step of R.
        log_scale: show sign(x) log(1 + |x|) instead of x.
    """

    node_dim: int
    edge_dim: int = 0
    time_dim: int = 0
    count: bool = True
    decayed_count: bool = True
    decay: float = 0.6
    log_scale: bool = True

    @property
    def stored(self) -> int:
        """Numbers kept a slot."""
        return self.node_dim + self.edge_dim + 2 * self.time_dim + 2

    @property
    def shown(self) -> int:
        """Numbers shown to a network a slot."""
        counts = int(self.count) + int(self.decayed_count)
        return self.node_dim + self.edge_dim + self.time_dim + counts


class LinkSums(nn.Module):
    """Adds links to running sums and reads representations' inputs off them.

    Args:
        parts: which sums there are.
        slots: 1 undirected, 2 directed.
        steps: number of steps, for the time code's start values.
    """

    def __init__(self, parts: SumParts, slots: int, steps: int) -> None:
        super().__init__()
        self.parts = parts
        self.slots = slots
        self.time = TimeEncoding(parts.time_dim, steps) if parts.time_dim else None

    @property
    def width(self) -> int:
        """Numbers a node stores."""
        return self.slots * self.parts.stored

    @property
    def shown(self) -> int:
        """Numbers a network sees of a node."""
        return self.slots * self.parts.shown

    def gathered(
        self,
        plan: StepPlan,
        content: Float[Tensor, "row node_dim"],
        edge_feat: Float[Tensor, "link edge_dim"] | None,
        weight: Float[Tensor, " link"],
    ) -> Float[Tensor, "sum columns"]:
        """Sums over one step's links that know no time: p s_w, p e and p, for each slot.

        Args:
            plan: places of the links.
            content: features of the active nodes.
            edge_feat: features of the links; None for the constant 1 or none at all.
            weight: p of each link.
        """
        per_entry = weight.index_select(0, plan.entry_link).unsqueeze(1)
        columns = [content.index_select(0, plan.entry_other) * per_entry]
        if self.parts.edge_dim and edge_feat is not None:
            columns.append(edge_feat.index_select(0, plan.entry_link) * per_entry)
        elif self.parts.edge_dim:  # a constant feature of every link: one folded column
            columns.append(per_entry)
        message = torch.cat([*columns, per_entry], dim=1)
        empty = message.new_zeros(plan.num_rows * self.slots, message.shape[1])
        return empty.index_add(0, plan.entry_slot, message)

    def stamped(
        self, gathered: Float[Tensor, "sum columns"], step: Int64[Tensor, " one"]
    ) -> Float[Tensor, "row stored"]:
        """What a step adds to the stored sums: its gathered sums with the step's time on them."""
        mass = gathered[:, -1:]
        columns = [gathered[:, :-1]]
        if self.time is not None:
            cos, sin = self.time.waves(step)
            columns += [mass * cos, mass * sin]
        return torch.cat([*columns, mass, mass], dim=1).reshape(-1, self.width)

    def carried(
        self, sums: Float[Tensor, "row stored"], gap: Int64[Tensor, " row"]
    ) -> Float[Tensor, "row stored"]:
        """Sums as they stand `gap` steps later: only the decayed count changes."""
        if not self.parts.decayed_count:
            return sums
        factor = torch.pow(
            torch.tensor(self.parts.decay, dtype=sums.dtype, device=sums.device), gap
        )
        table = sums.reshape(-1, self.slots, self.parts.stored)
        kept, decayed = table[..., :-1], table[..., -1:]
        return torch.cat([kept, decayed * factor.reshape(-1, 1, 1)], dim=2).reshape(sums.shape)

    def view(
        self, sums: Float[Tensor, "row stored"], step: Int64[Tensor, " at"]
    ) -> Float[Tensor, "row shown"]:
        """What a network sees of sums that are read at `step` (one a row, or one for all)."""
        parts = self.parts
        table = sums.reshape(-1, self.slots, parts.stored)
        widths = [parts.node_dim, parts.edge_dim, parts.time_dim, parts.time_dim, 1, 1]
        content, edges, cos, sin, count, decayed = torch.split(table, widths, dim=2)
        shown = [content, edges]
        if self.time is not None:
            shown.append(self.time.read(cos, sin, step))
        shown += [count] * parts.count + [decayed] * parts.decayed_count
        flat = torch.cat(shown, dim=2).reshape(sums.shape[0], self.shown)
        return torch.sign(flat) * torch.log1p(flat.abs()) if parts.log_scale else flat

    def content(
        self, sums: Float[Tensor, "row stored"], slot: int
    ) -> Float[Tensor, "row node_dim"]:
        """S of one slot: the weighted sum of the neighbours' features."""
        table = sums.reshape(-1, self.slots, self.parts.stored)
        return table[:, slot, : self.parts.node_dim]
