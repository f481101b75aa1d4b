"""Samplers by name, and the stored pairs that measure under each protocol."""

from dataclasses import dataclass

import torch

from oodlinker.graph.one_to_one import Active, AllIds
from oodlinker.graph.positives import Drawn, StepSampler, joined
from oodlinker.graph.queries import Pairs
from oodlinker.graph.ranking import Deployed
from oodlinker.graph.worlds import PairSource, ProtocolName, Split, World
from oodlinker.rng import generator

EVALUATED = 100  # negatives a positive at evaluation under `deployed`


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """Pairs that were made beforehand, handed out as they are.

    Args:
        pairs: the pairs of all steps that may be asked for.

    Reference: Zhang et al., "Dynamic Graph Neural Networks Under Spatio-Temporal Distribution
    Shift" (DIDA), 2022: data files that store their pairs.
    """

    pairs: Pairs
    name: str = "stored"

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """The stored pairs of some steps, whatever the stream."""
        return self.pairs.of_steps(steps)


SAMPLERS: dict[str, type[PairSource]] = {
    "active": Active,
    "all-ids": AllIds,
    "deployed": Deployed,
    "stored": StoredPairs,
}


def training_sampler(protocol: ProtocolName) -> PairSource:
    """The sampler that a protocol trains with: the rule that it is evaluated by."""
    return Deployed() if protocol == "deployed" else Active()


def measured_steps(protocol: ProtocolName, split: Split) -> range:
    """Steps that get stored pairs: all that have a history; `deployed`: those that are measured.

    At 100 negatives a positive and end, the pairs of training steps would fill the memory, and
    nothing reads them.
    """
    last = split.train + split.valid + split.test
    return range(split.train if protocol == "deployed" else 1, last)


def evaluation_pairs(
    world: World,
    protocol: ProtocolName,
    steps: range,
    data_seed: int,
    *,
    domain: int | None = None,
) -> tuple[Pairs, list[Drawn]]:
    """The pairs that measure a world, fixed by the seed.

    Args:
        world: its links; its own pairs are not looked at.
        protocol: "published" and "strict": 1:1 among active nodes; "deployed": 100 a positive.
        steps: steps that are asked about.
        data_seed: seed of the negatives.
        domain: ask about the links of this domain only; history and candidates stay.

    Returns:
        The pairs, and what each step gave.
    """
    sampler: StepSampler = Active()
    if protocol == "deployed":
        sampler = Deployed(EVALUATED, both_ends=True)
    drawn = [
        sampler.of_step(
            world, step, generator(data_seed, "evaluation pairs", world.name, step), domain
        )
        for step in steps
    ]
    return joined([one.pairs for one in drawn]), drawn
