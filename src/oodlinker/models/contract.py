"""What every method keeps: parameters on the module, history in a state, no look into the future.

A method reads steps in the order of time (`start`, `advance`) and scores pairs of later steps
(`score`). `rollout` answers all queries of a world at once; its default folds the two, and an own
version must give the same numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.worlds import Step, TrainingSet, World
from oodlinker.objectives.contract import Term
from oodlinker.rng import generator


@dataclass(frozen=True)
class Dims:
    """Widths of a world that a method is built for."""

    node: int
    edge: int = 0
    directed: bool = False
    steps: int = 16
    bipartite: bool = False

    @classmethod
    def of(cls, world: World) -> "Dims":
        """Read them off a world."""
        edge = 0 if world.edge_feat is None else int(world.edge_feat.shape[1])
        bipartite = world.kind == "bipartite"
        return cls(world.features.dim, edge, world.directed, world.num_steps, bipartite)


@dataclass(frozen=True)
class Spec:
    """What the other rooms must know of a method.

    Args:
        state: how it remembers: running sums, a recurrent state, or a window of links.
        summary: one line for `oodlinker methods`.
        reference: the paper it comes from.
        cost: cost formula of one pass.
        trains: whether it learns anything from training pairs.
        gradient: whether it learns through gradients of its parameters; a method that learns
            otherwise has buffers instead, which `fit_pairs` fills.
        first_epoch: first epoch that may be chosen.
        objective: name of the objective it is trained with, unless another is asked for.
    """

    state: Literal["sums", "recurrent", "window"]
    summary: str
    reference: str
    cost: str
    trains: bool = True
    gradient: bool = True
    first_epoch: int = 0
    objective: str = "erm"


@dataclass(frozen=True, eq=False)
class State:
    """What a method remembers of the steps that have closed.

    Args:
        clock: last closed step, -1 at the start.
        num_nodes: how many nodes it holds.
        nodes: tensors with one row a node; new nodes get zero rows.
        links: tensors with one row for each remembered link (window methods).
    """

    clock: int
    num_nodes: int
    nodes: Mapping[str, Tensor] = field(default_factory=dict)
    links: Mapping[str, Tensor] = field(default_factory=dict)

    def grown(self, num_nodes: int) -> "State":
        """The same state with room for more nodes."""
        extra = num_nodes - self.num_nodes
        if extra <= 0:
            return self
        nodes = {
            name: torch.cat([table, table.new_zeros(extra, *table.shape[1:])])
            for name, table in self.nodes.items()
        }
        return replace(self, num_nodes=num_nodes, nodes=nodes)

    def closed(self, step: Step, **nodes: Tensor) -> "State":
        """The state after a step, with some node tables replaced."""
        return replace(self, clock=step.index, nodes={**self.nodes, **nodes})

    def to_tensors(self) -> dict[str, Tensor]:
        """A flat table of tensors, as safetensors stores it."""
        flat = {"clock": torch.tensor([self.clock, self.num_nodes])}
        flat |= {f"nodes.{name}": table.contiguous() for name, table in self.nodes.items()}
        return flat | {f"links.{name}": table.contiguous() for name, table in self.links.items()}

    @classmethod
    def from_tensors(cls, flat: Mapping[str, Tensor]) -> "State":
        """The state that `to_tensors` wrote."""
        clock, num_nodes = flat["clock"].tolist()
        parts: dict[str, dict[str, Tensor]] = {"nodes": {}, "links": {}}
        for name, table in flat.items():
            group, _, rest = name.partition(".")
            if rest:
                parts[group][rest] = table
        return cls(clock, num_nodes, **parts)


@dataclass(frozen=True, eq=False)
class Scores:
    """Logits of the queries, and a trace of how they came about.

    Args:
        logits: log-odds (or any monotone score, for parameter-free methods) of each query.
        trace: what explanations, penalties and progress bars read: p, q, embeddings ...
    """

    logits: Float[Tensor, " query"]
    trace: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """Where training stands: named random streams instead of generators that are passed along."""

    seed: int = 0
    epoch: int = 0
    aux: Any = None

    def stream(self, purpose: str) -> torch.Generator:
        """The random stream of one purpose in this epoch."""
        return generator(self.seed, purpose, self.epoch)


@dataclass(frozen=True)
class ParamGroup:
    """Parameters that share an optimiser's settings."""

    params: list[nn.Parameter]
    settings: dict[str, float] = field(default_factory=dict)


class LinkModel(nn.Module):
    """A method of temporal link prediction; subclass it and nothing below it."""

    spec: ClassVar[Spec]
    Config: ClassVar[type]

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.dims = dims

    def start(self, num_nodes: int) -> State:
        """The state before the first step."""
        raise TypeError(f"{type(self).__name__} must define start")

    def advance(self, state: State, step: Step) -> State:
        """The state once a step has closed; pure."""
        raise TypeError(f"{type(self).__name__} must define advance")

    def score(self, state: State, queries: Queries) -> Scores:
        """Score pairs of the step after the state's clock."""
        raise TypeError(f"{type(self).__name__} must define score")

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        """Score all queries, each from the history before its step; the fast path."""
        steps = queries.step
        places, parts = [], []
        state = self.start(world.num_nodes)
        for step in range(int(steps.max()) + 1 if len(queries) else 0):
            rows = (steps == step).nonzero().flatten()
            if rows.numel():
                places.append(rows)
                parts.append(self.score(state, queries.apart(rows)).logits)
            if step < world.num_steps:
                state = self.advance(state, world.step(step))
        if not parts:
            return Scores(queries.end_feat.new_zeros(0))
        order = torch.cat(places).argsort()
        return Scores(torch.cat(parts).index_select(0, order))

    def terms(
        self, scores: Scores, queries: Queries, labels: Bool[Tensor, " query"], context: Context
    ) -> dict[str, Term]:
        """Parts of the loss; by default the task alone."""
        return {"task": task_term(scores.logits, labels)}

    def refresh(self, world: World, context: Context) -> Any:
        """What is redone between epochs without gradient (clusters, sampled neighbours)."""
        return None

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        """Learn without gradients: fill the module's buffers, and score the pairs with them.

        Only methods whose spec says `gradient=False` define it. It stands in for an epoch, so one
        epoch is enough; several are several fits, of which validation keeps the best. Buffers keep
        their shapes, so that a fresh module can load those of a fitted one.

        Args:
            training: the training world up to its validation steps, and the validation pairs.
            pairs: one draw of labelled pairs of the training steps.
            context: names the random streams.
        """
        raise TypeError(f"{type(self).__name__} must define fit_pairs")

    def param_groups(self) -> list[ParamGroup]:
        """Groups of parameters with optimiser settings of their own."""
        return [ParamGroup([one for one in self.parameters() if one.requires_grad])]


def task_term(logits: Float[Tensor, " query"], labels: Bool[Tensor, " query"]) -> Term:
    """Binary cross-entropy of the answers, as one environment."""
    losses = F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none")
    return Term(losses.sum().reshape(1), logits.new_tensor([float(labels.numel())]))
