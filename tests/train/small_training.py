"""A small method and small worlds that tests of training share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from oodlinker.graph.queries import Queries
from oodlinker.graph.samplers import Active
from oodlinker.graph.worlds import Split, Step, World, Worlds
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State
from oodlinker.objectives.contract import Term
from oodlinker.objectives.invariance import ERM
from oodlinker.testing import random_world
from oodlinker.train.config import TrainConfig
from oodlinker.train.fit import Epoch, fit

SPLIT = Split(train=5, valid=2, test=1)
CONFIG = TrainConfig(epochs=10, warmup=2, eval_every=3)


def small_worlds(seed: int = 0, nodes: int = 40, links: int = 400) -> Worlds:
    """A training and a shifted world of random links."""

    def world(name: str, number: int) -> World:
        made = random_world(number, nodes=nodes, steps=8, links=links)
        pairs = Active().draw(made, range(1, 8), torch.Generator().manual_seed(number))
        return replace(made, name=name, pairs=pairs)

    return Worlds(
        world("train", seed),
        world("shifted", seed + 1),
        SPLIT,
        "strict",
        Active(),
        domain_names=("a", "b", "c"),
        held_out="c",
    )


@dataclass(frozen=True)
class SumsConfig:
    width: int = 8


class Sums(LinkModel):
    """Inner products of [own feature + mean neighbour feature], linearly mapped, with dropout."""

    Config = SumsConfig
    spec = Spec("sums", "Sums of neighbours.", "made for tests", "O(links)")

    def __init__(self, dims: Dims, config: SumsConfig = SumsConfig()) -> None:
        super().__init__(dims)
        self.map = nn.Linear(dims.node, config.width)
        self.drop = nn.Dropout(0.2)

    def start(self, num_nodes: int) -> State:
        like = self.map.weight
        nodes = {
            "sum": like.new_zeros(num_nodes, self.dims.node),
            "count": like.new_zeros(num_nodes),
        }
        return State(-1, num_nodes, nodes)

    def advance(self, state: State, step: Step) -> State:
        ends, others = torch.cat([step.src, step.dst]), torch.cat([step.dst, step.src])
        total = state.nodes["sum"].index_add(0, ends, step.rows(others))
        count = state.nodes["count"].index_add(0, ends, total.new_ones(ends.numel()))
        return state.closed(step, sum=total, count=count)

    def score(self, state: State, queries: Queries) -> Scores:
        count = state.nodes["count"].index_select(0, queries.end_node).clamp(min=1)
        mean = state.nodes["sum"].index_select(0, queries.end_node) / count.unsqueeze(1)
        ends = self.drop(self.map(queries.end_feat + mean))
        return Scores(
            (ends.index_select(0, queries.src) * ends.index_select(0, queries.dst)).sum(1)
        )


class Selecting(Sums):
    """The same with a selector, whose p is sigmoid(scale * x_u . x_v + shift), and its price."""

    def __init__(self, dims: Dims, scale: float = 1.0, shift: float = 0.0) -> None:
        super().__init__(dims)
        self.select = nn.Parameter(torch.tensor([scale, shift]))

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        logits = super().rollout(world, queries, context).logits
        src, dst = world.features.rows(world.src, 0), world.features.rows(world.dst, 0)
        prob = torch.sigmoid(self.select[0] * (src * dst).sum(1) + self.select[1])
        return Scores(logits, {"prob": prob})

    def terms(
        self, scores: Scores, queries: Queries, labels: Tensor, context: Context
    ) -> dict[str, Term]:
        prob = scores.trace["prob"]
        count = prob.new_tensor([float(prob.numel())])
        # Nothing pulls at p, so that a test decides what it is.
        return super().terms(scores, queries, labels, context) | {
            "kl": Term(0 * prob.sum().reshape(1), count)
        }


def built(seed: int = 0, worlds: Worlds | None = None, cls: type[Sums] = Sums) -> Sums:
    """A small method with seeded weights."""
    dims = Dims.of((worlds or small_worlds()).train)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return cls(dims)


def trained(
    model: LinkModel, config: TrainConfig = CONFIG, seed: int = 0, worlds: Worlds | None = None
) -> list[Epoch]:
    training = (worlds or small_worlds()).training_set()
    return list(fit(model, ERM(), training, config, seed=seed))


def lines(epochs: list[Epoch]) -> list[dict[str, object]]:
    """What the epochs say, without the time that they took."""
    return [{**epoch.to_mapping(), "seconds": 0} for epoch in epochs]


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
