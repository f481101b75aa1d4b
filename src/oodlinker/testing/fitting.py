"""Methods that learn without gradients, fitted to random pairs, and what their fits must keep."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from oodlinker.errors import BadMethod
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import Kind
from oodlinker.graph.worlds import Split, TrainingSet, World
from oodlinker.models.contract import Context, Dims, LinkModel
from oodlinker.testing.random_world import random_pairs, random_world

LINKS, PAIRS = 200, 60  # of the world; of each of its steps
Make = Callable[[Dims], LinkModel]


@dataclass(frozen=True)
class AnyPairs:
    """Random pairs with random labels: whoever knows them has learned them."""

    name: str = "any pairs"

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """The same pairs a call."""
        return random_pairs(7, world.num_nodes, world.num_src, steps, PAIRS)


def fitted(make: Make, dims: Dims, kind: Kind, global_seed: int = 0) -> dict[str, Tensor]:
    """The buffers of a method once it is fitted to a random world of some widths."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(global_seed)
        model = make(dims).double()
        world = random_world(
            6,
            kind,
            links=LINKS,
            node_dim=dims.node,
            edge_dim=dims.edge,
            changing=True,
            dtype=torch.float64,
        )
        training = TrainingSet(world, Split(world.num_steps - 1, 1, 0), AnyPairs())
        context = Context(seed=3)
        model.fit_pairs(training, training.draw(context.stream("training pairs")), context)
    return {name: table.clone() for name, table in model.state_dict().items()}


# Fitting takes longer than asking, and rules build many models on many worlds.
fitted_once = cache(fitted)


def check_fits_alike(make: Make, dims: Dims, kind: Kind) -> None:
    """The same seed gives the same fit, whatever torch's global seed.

    Raises:
        BadMethod: it gives another.
    """
    first, second = fitted_once(make, dims, kind, 1), fitted_once(make, dims, kind, 2)
    if any(not torch.equal(first[name], second[name]) for name in first):
        raise BadMethod(
            "the same seed gives another fit.",
            "Draw every random number from context.stream(purpose).",
        )


def check_fit_teaches(make: Make, dims: Dims, kind: Kind) -> None:
    """Fitting changes the buffers, in place of those that a fresh module has.

    Raises:
        BadMethod: nothing changes, shapes change, or numbers are not finite.
    """
    after = fitted_once(make, dims, kind)
    before = make(dims).double().state_dict()
    shapes = [{name: one.shape for name, one in tables.items()} for tables in (before, after)]
    if shapes[0] != shapes[1]:
        raise BadMethod(
            "its buffers have other names or shapes once it is fitted.",
            "Make room for all that may be learned when it is built: runs are loaded into it.",
        )
    if all(torch.equal(before[name], after[name]) for name in before):
        raise BadMethod("`fit_pairs` changes no buffer.", "Register what is learned as buffers.")
    if not all(bool(table.isfinite().all()) for table in after.values()):
        raise BadMethod("`fit_pairs` leaves numbers that are not finite.")
