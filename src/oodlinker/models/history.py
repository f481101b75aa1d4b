"""A world's history as OOD-Linker reads it, made once for as long as the world lives."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from oodlinker.errors import BadConfig
from oodlinker.graph.worlds import Step, World
from oodlinker.models.selector import ClosingStep, Selection
from oodlinker.nn.link_plan import LinkPlan, StepPlan
from oodlinker.nn.link_sums import LinkSums

EdgeCode = Literal["off", "constant", "links"]


@dataclass(frozen=True)
class Reading:
    """What of the links is read, and with which weights.

    Args:
        sums: the running sums.
        selection: whether weights are learned, all 1, or the true flags.
        edge_code: which link features are summed.
    """

    sums: LinkSums
    selection: Selection
    edge_code: EdgeCode

    def step(self, step: Step, plan: StepPlan, like: Tensor) -> ClosingStep:
        """The inputs of one step, in the type and on the device of `like`.

        Raises:
            BadConfig: the weights are to be the true flags and the links have none.
        """
        content = step.rows(plan.nodes).to(like)
        ones = content.new_ones(plan.src.shape)
        edge_feat, given = None, None
        if self.edge_code == "links" and step.edge_feat is not None:
            edge_feat = step.edge_feat.to(like)
        if self.selection == "all":
            given = ones
        elif self.selection == "given":
            if step.invariant is None:
                raise BadConfig(
                    "selection = given needs links with a true flag",
                    "Only planted worlds, or links read with invariant=..., have one.",
                )
            given = step.invariant.to(like)
        gathered = self.sums.gathered(plan, content, edge_feat, ones)
        index = torch.tensor([step.index], device=like.device)
        return ClosingStep(index, plan, content, edge_feat, given, None, gathered)


@dataclass(frozen=True, eq=False)
class History:
    """A whole world: its plan and the inputs of all its steps.

    Args:
        plan: rows and links.
        steps: the inputs of each step, without noise.
        content: features of all rows; row 0 has none.
    """

    plan: LinkPlan
    steps: tuple[ClosingStep, ...]
    content: Float[Tensor, "row node_dim"]

    @classmethod
    def of(cls, world: World, reading: Reading, like: Tensor) -> "History":
        """Read a world."""
        plan = LinkPlan.of(world)
        steps = tuple(
            reading.step(world.step(index), step, like) for index, step in enumerate(plan.steps)
        )
        empty = like.new_zeros(1, world.features.dim)
        return cls(plan, steps, torch.cat([empty, *(step.content for step in steps)]))

    def step(self, index: int, noise: Tensor | None) -> ClosingStep:
        """The inputs of one step, with its share of the noise."""
        if noise is None:
            return self.steps[index]
        return replace(self.steps[index], noise=noise[self.plan.links_of(index)])
