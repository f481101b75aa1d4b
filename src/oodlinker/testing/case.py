"""One method on one world: what the rules of the contract build, ask and compare."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from oodlinker.errors import BadMethod
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Dims, LinkModel, State
from oodlinker.rng import generator
from oodlinker.testing.fitting import fitted_once

TOLERANCE = 1e-10  # of a tensor's largest entry, in float64
Make = Callable[[Dims], LinkModel]


@dataclass(frozen=True, eq=False)
class Case:
    """A method that can be built, a world, and what is asked of it.

    Args:
        make: builds the method for the widths of a world.
        title: names the world in messages.
        world: the history, in float64.
        pairs: asked pairs, of step 0 up to the step after the last.
    """

    make: Make
    title: str
    world: World
    pairs: Pairs

    def built(self) -> LinkModel:
        """A fresh model as its maker made it, under a fixed global seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return self.make(Dims.of(self.world))

    def model(self) -> LinkModel:
        """A fresh model in float64 and eval mode: every call gives the same.

        Its weights are shaken; a method that learns without gradients is fitted to another world.
        """
        model = self.built()
        if model.spec.trains and not model.spec.gradient:
            model.load_state_dict(fitted_once(self.make, Dims.of(self.world), self.world.kind))
            return model.double().eval()
        stream = generator(0, "contract", "weights")
        with torch.no_grad():
            for weight in weights_of(model):
                weight.add_(torch.randn(weight.shape, generator=stream).to(weight), alpha=0.1)
        return model.double().eval()

    def logits(
        self, world: World | None = None, pairs: Pairs | None = None, context: Context | None = None
    ) -> Float[Tensor, " query"]:
        """Scores of a fresh model in eval mode, through its own rollout."""
        world = self.world if world is None else world
        queries = world.queries(self.pairs if pairs is None else pairs)
        with torch.no_grad():
            return self.model().rollout(world, queries, context or Context()).logits

    @property
    def last_pairs(self) -> Pairs:
        """The pairs of the step after the last."""
        return self.pairs.of_steps(range(self.world.num_steps, self.world.num_steps + 1))

    @torch.no_grad()
    def after(self, model: LinkModel, steps: range, state: State | None = None) -> State:
        """The state of a model after some steps of the world, from another state or the start."""
        state = model.start(self.world.num_nodes) if state is None else state
        for index in steps:
            state = model.advance(state, self.world.step(index))
        return state

    @torch.no_grad()
    def last_logits(self, model: LinkModel, state: State) -> Float[Tensor, " query"]:
        """Scores of the pairs of the step after the last, from a state that has seen all steps."""
        return model.score(state, self.world.queries(self.last_pairs)).logits

    def training_pass(self, model: LinkModel) -> tuple[Tensor, Tensor]:
        """The sum of the terms of a training pass over the steps of the world, and its logits."""
        pairs = self.pairs.of_steps(range(1, self.world.num_steps))
        queries, context = self.world.queries(pairs), Context(seed=3, epoch=2)
        context = Context(seed=3, epoch=2, aux=model.refresh(self.world, context))
        scores = model.rollout(self.world, queries, context)
        terms = model.terms(scores, queries, pairs.label, context)
        return torch.stack([term.mean for term in terms.values()]).sum(), scores.logits


def weights_of(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that are trained."""
    return [weight for weight in model.parameters() if weight.requires_grad]


def require_equal(first: Tensor, second: Tensor, sentence: str, remedy: str) -> None:
    """Refuse numbers that differ by more than 1e-10 of the largest entry.

    Raises:
        BadMethod: they do; its text is the sentence, then by how much.
    """
    if first.shape != second.shape:
        raise BadMethod(f"{sentence}: shape {[*first.shape]} against {[*second.shape]}.", remedy)
    if not first.numel():
        return
    gap = float((first - second).abs().max())
    largest = float(torch.cat([first, second]).abs().max())
    if not gap <= TOLERANCE * largest:  # written so that NaN is refused too
        raise BadMethod(f"{sentence} (by up to {gap:.2g} where {largest:.2g} is largest).", remedy)
