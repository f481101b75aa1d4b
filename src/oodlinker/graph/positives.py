"""The positives of a step, and what every sampler of negatives shares.

Positives are the distinct pairs of a step, without self-loops; a pair of several domains takes
the first. Each step has a random stream of its own: links of one step never change the pairs of
another.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.graph.queries import NO_GROUP, Pairs
from oodlinker.graph.worlds import World
from oodlinker.rng import generator


@dataclass(frozen=True, eq=False)
class Positives:
    """The distinct pairs of one step, sorted by source and target.

    Args:
        step: the step.
        src: source of each pair; undirected: the smaller number.
        dst: target of each pair.
        domain: domain of each pair, the first one where it has several.
    """

    step: int
    src: Int64[Tensor, " positive"]
    dst: Int64[Tensor, " positive"]
    domain: Int64[Tensor, " positive"]

    def __len__(self) -> int:
        return int(self.src.numel())


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pairs of one step, and what could not be given.

    Args:
        pairs: positives and negatives.
        positives: how many positives the step has (each end counts where both ends are ranked).
        unranked: how many of them are left out, as their target was never seen before.
        missing: how many negatives are missing for lack of possible ones.
    """

    pairs: Pairs
    positives: int
    unranked: int = 0
    missing: int = 0


def positives_of(world: World, step: int, domain: int | None = None) -> Positives:
    """The distinct pairs of one step of a world.

    Args:
        world: where to look.
        step: which step.
        domain: take the links of this domain only.
    """
    rows = slice(world.step_ptr[step], world.step_ptr[step + 1])
    src, dst, label = world.src[rows], world.dst[rows], world.domain[rows]
    wanted = src != dst
    if domain is not None:
        wanted &= label == domain
    src, dst, label = src[wanted], dst[wanted], label[wanted]
    if world.kind == "undirected":
        src, dst = torch.minimum(src, dst), torch.maximum(src, dst)
    order = torch.from_numpy(np.lexsort((label.numpy(), dst.numpy(), src.numpy())))
    src, dst, label = src[order], dst[order], label[order]
    first = torch.ones_like(src, dtype=torch.bool)
    first[1:] = (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
    return Positives(step, src[first], dst[first], label[first])


@runtime_checkable
class StepSampler(Protocol):
    """A sampler that draws one step at a time."""

    def of_step(
        self, world: World, step: int, stream: torch.Generator, domain: int | None = None
    ) -> Drawn:
        """Pairs of one step."""
        ...


def each_step(sampler: StepSampler, world: World, steps: range, stream: torch.Generator) -> Pairs:
    """Draw each step from a stream of its own, split off the one given."""
    seed = int(torch.randint(2**62, (1,), generator=stream))
    return joined(
        [sampler.of_step(world, step, generator(seed, "step", step)).pairs for step in steps]
    )


def joined(parts: list[Pairs]) -> Pairs:
    """One table of several steps' pairs; groups are numbered on."""
    if not parts:
        empty = torch.empty(0, dtype=torch.int64)
        return Pairs.of(empty, empty, empty, empty.bool())
    groups, shift = [], 0
    for part in parts:
        groups.append(torch.where(part.group >= 0, part.group + shift, NO_GROUP))
        shift += int(part.group.max()) + 1 if len(part) else 0
    whole = Pairs.concat(parts)
    return Pairs(whole.src, whole.dst, whole.step, whole.label, whole.domain, torch.cat(groups))
