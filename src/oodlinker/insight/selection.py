"""How well a selector tells invariant links from spurious ones, where the truth is known."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World
from oodlinker.models.contract import LinkModel
from oodlinker.train.evaluate import scoring


@dataclass(frozen=True, eq=False)
class Selection:
    """p of links whose true flags are known.

    Args:
        prob: p of each link.
        invariant: its true flag.
        step: its step.
    """

    prob: Float[Tensor, " link"]
    invariant: Bool[Tensor, " link"]
    step: Int64[Tensor, " link"]

    @property
    def precision(self) -> float:
        """Share of invariant links among the top k by p, k = their true number.

        Links that tie at the k-th place count by their mean, so no order of links matters.
        """
        count = int(self.invariant.sum())
        if not count:
            return float("nan")
        least = self.prob.topk(count).values[-1]
        above, tied = self.prob > least, self.prob == least
        open_places = count - int(above.sum())
        share = float(self.invariant[tied].double().mean())
        return (int(self.invariant[above].sum()) + open_places * share) / count

    @property
    def base_rate(self) -> float:
        """Share of invariant links among all: the precision of a blind choice."""
        return float(self.invariant.double().mean())

    def mean(self, *, invariant: bool) -> float:
        """Mean p of the invariant, or of the spurious, links."""
        return float(self.prob[self.invariant == invariant].double().mean())

    def by_step(self, *, invariant: bool) -> dict[int, float]:
        """Mean p of the links of each step that has such links."""
        found = {}
        for step in torch.unique(self.step).tolist():
            rows = (self.step == step) & (self.invariant == invariant)
            if bool(rows.any()):
                found[step] = float(self.prob[rows].double().mean())
        return found


def read_selection(model: LinkModel, world: World, pairs: Pairs) -> Selection | None:
    """What a selector makes of the links that pairs of a world can see.

    Args:
        model: the method; its mode stays as it was.
        world: a world whose links carry their true flag.
        pairs: their last step says how much of the history is read.

    Returns:
        None where the method selects nothing, or the truth is not known.
    """
    if world.invariant is None:
        return None
    with scoring(model, world) as (seen, context):
        trace = model.rollout(seen, seen.queries(pairs), context).trace
    if "prob" not in trace:
        return None
    prob = trace["prob"]
    links = prob.numel()
    return Selection(prob, world.invariant[:links], world.step_of_link[:links])
