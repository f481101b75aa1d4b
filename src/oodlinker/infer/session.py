"""Session: a trained method and everything that is known, ready to score any pair at any time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.errors import BadGraph, BadTime
from oodlinker.graph.ids import UNKNOWN, External, Side
from oodlinker.graph.queries import Queries
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.infer.history import history_world
from oodlinker.infer.raw_time import raw_time, shown_time
from oodlinker.models.contract import Dims, LinkModel, State
from oodlinker.progress import progress

BATCH = 1 << 16  # pairs that are scored at once: bounds memory, changes no score
Ids = Sequence[object] | np.ndarray


class Session:
    """Scores pairs from all known links before a time, of all domains.

    Nodes that the history does not hold have no past, and the features of a node that was never
    seen. Links are read step by step: a pair asked about at a time is answered from the steps
    that have closed before the step of that time.

    Args:
        model: a trained method, or one without parameters.
        history: all known links.
        grid: how raw times become steps.
        fitted: what features were fitted in training (`Worlds.fitted`).

    Raises:
        BadGraph: the method was made for other features or another kind of links.
    """

    def __init__(
        self,
        model: LinkModel,
        history: TemporalGraph,
        grid: StepGrid,
        fitted: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        world = history_world(history, grid, fitted or {})
        check_dims(model.dims, Dims.of(world))
        dtype = next((one.dtype for one in model.parameters()), world.features.value.dtype)
        self.model = model.eval()
        self.history = history
        self.grid = grid
        self.world = world.in_dtype(dtype)
        self._state: State | None = None

    def step_of(self, at: object = None) -> int:
        """The step of a moment; without one, the step after the last known link.

        Args:
            at: a raw time, an ISO date, or a date of Python, numpy or pandas.

        Raises:
            BadTime: it is no time of this graph, or no link is known before its step.
        """
        if at is None:
            return self.world.num_steps
        unit = self.history.time_unit
        raw = raw_time(at, unit)
        step = self.grid.step_at(raw)
        if self.links_before(step) == 0:
            times = self.history.time
            span = [shown_time(times[end].item(), unit) for end in (0, -1)] if len(times) else []
            what = f"no link is known before {at!r} (step {step})"
            raise BadTime(what, f"Links are known from {' to '.join(span)}." if span else "")
        return step

    def links_before(self, step: int) -> int:
        """How many known links come before a step."""
        return self.world.step_ptr[max(0, min(step, self.world.num_steps))]

    def logits(self, src: Ids, dst: Ids, at: object = None) -> Float[Tensor, " query"]:
        """Log-odds (or any monotone score) of pairs; arguments as of `prob`."""
        if len(src) != len(dst):
            raise ValueError(f"{len(src)} first ends and {len(dst)} second ends make no pairs")
        step = self.step_of(at)
        if not len(src):
            return torch.zeros(0)
        parts = []
        with torch.no_grad():
            state = self._state_before(step)
            for start in range(0, len(src), BATCH):
                rows = slice(start, start + BATCH)
                queries = self._queries(*self.numbered(src[rows], dst[rows]), step)
                state = state.grown(int(queries.end_node[-1]) + 1)  # ends are sorted by node
                parts.append(self.model.score(state, queries).logits)
        return torch.cat(parts)

    def prob(self, src: Ids, dst: Ids, at: object = None) -> Float[Tensor, " query"]:
        """Probability of each pair to link at a time: sigmoid(logit), not calibrated.

        Args:
            src: first ends, as ids of the graph; in undirected graphs the order of a pair says
                nothing.
            dst: second ends, one for each of the first.
            at: the time that is asked about; None for the step after the last known link.

        Raises:
            BadId: an id cannot be one of this graph.
            BadTime: as of `step_of`.
        """
        return torch.sigmoid(self.logits(src, dst, at).double())

    def strangers(self, src: Ids, dst: Ids) -> int:
        """How many pairs have an end that the history does not hold."""
        ids = self.history.ids
        unknown = (ids.find(src, "src") == UNKNOWN) | (ids.find(dst, "dst") == UNKNOWN)
        return int(unknown.sum())

    def numbered(
        self, src: Ids, dst: Ids
    ) -> tuple[Int64[Tensor, " query"], Int64[Tensor, " query"]]:
        """Dense numbers of the ends, oriented as training saw them.

        New nodes are numbered after the stranger, in the order of their ids, so that two of them
        are oriented alike whatever else is asked.
        """
        ids = self.history.ids
        sides: tuple[tuple[Ids, Side], ...] = ((src, "src"), (dst, "dst"))
        found = [ids.find(ends, side) for ends, side in sides]
        unknown = [(number == UNKNOWN).nonzero().flatten().tolist() for number in found]
        keys: list[list[tuple[int, External]]] = [
            [(bool(ids.num_src) and side == "dst", ids.cast(ends[row])) for row in rows]
            for (ends, side), rows in zip(sides, unknown, strict=True)
        ]
        fresh = sorted({key for both in keys for key in both})
        number = {key: self.world.num_nodes + place for place, key in enumerate(fresh)}
        for column, rows, own in zip(found, unknown, keys, strict=True):
            column[rows] = torch.tensor([number[key] for key in own], dtype=torch.int64)
        first, second = found
        if self.history.kind == "undirected":
            return torch.minimum(first, second), torch.maximum(first, second)
        return first, second

    def _queries(self, src: Tensor, dst: Tensor, step: int) -> Queries:
        """Questions about numbered pairs; new nodes show what is known of any never seen."""
        features = self.world.features
        stranger = self.world.num_nodes - 1
        queries = Queries.make(src, dst, torch.full_like(src, step), features)
        fresh = queries.end_node > stranger
        if not bool(fresh.any()):
            return queries
        unseen = features.rows(torch.tensor([stranger]), step - 1)
        end_feat = torch.where(fresh.unsqueeze(1), unseen, queries.end_feat)
        return replace(queries, end_feat=end_feat)

    def _state_before(self, step: int) -> State:
        """What the method remembers once all steps before this one have closed."""
        clock = min(step, self.world.num_steps) - 1
        if self._state is None or self._state.clock > clock:
            self._state = self.model.start(self.world.num_nodes)
        began = self._state.clock
        with progress("reading the history", float(max(clock - began, 1))) as bar:
            for index in range(began + 1, clock + 1):
                self._state = self.model.advance(self._state, self.world.step(index))
                bar.step(float(index - began))
        return self._state


def check_dims(made_for: Dims, given: Dims) -> None:
    """See that a method fits a world.

    Raises:
        BadGraph: features of another width, or directed links for undirected ones.
    """
    for name, what in (("node", "features a node"), ("edge", "features a link")):
        wanted, found = getattr(made_for, name), getattr(given, name)
        if wanted != found:
            raise BadGraph(
                f"the method was made for {wanted} {what}, these links have {found}",
                "Use the graph that it was trained on, or one made in the same way.",
            )
    if made_for.directed != given.directed:
        kinds = ("undirected", "directed")
        raise BadGraph(
            f"the method was made for {kinds[made_for.directed]} links, these are "
            f"{kinds[given.directed]}",
            "Use the graph that it was trained on, or one made in the same way.",
        )
