"""Worlds: a temporal graph cut into steps, as one side of a distribution shift sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.temporal import Kind, Label, TemporalGraph

ProtocolName = Literal["published", "strict", "deployed"]
PROTOCOLS: tuple[ProtocolName, ...] = ("published", "strict", "deployed")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Step:
    """What happens in one step: its links and what is known of the nodes once it has closed.

    Args:
        index: number of the step.
        src: source of each link.
        dst: target of each link.
        domain: domain of each link.
        edge_feat: features of each link, if links have any.
        invariant: the true flag of each link, if it is known.
        num_nodes: how many node numbers are in use.
        features: node features; `rows` looks them up as of this step.
    """

    index: int
    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]
    domain: Int64[Tensor, " link"]
    edge_feat: Float[Tensor, "link edge_dim"] | None
    invariant: Bool[Tensor, " link"] | None
    num_nodes: int
    features: NodeFeatures

    def rows(self, nodes: Int64[Tensor, " row"]) -> Float[Tensor, "row node_dim"]:
        """Features of some nodes once this step has closed."""
        return self.features.rows(nodes, self.index)

    @property
    def node_feat(self) -> Float[Tensor, "node node_dim"]:
        """Features of all nodes once this step has closed."""
        return self.rows(torch.arange(self.num_nodes))


@dataclass(frozen=True, eq=False)
class World:
    """A stepped history and the pairs that are asked of it.

    Args:
        name: what it is called in tables, e.g. "train" or "Data Mining".
        kind: as of the graph.
        num_nodes: how many node numbers are in use (shared by all worlds of a graph).
        num_src: bipartite: how many of them are sources.
        step_ptr: links of step t are rows step_ptr[t] to step_ptr[t + 1].
        src: source of each link, in the order of steps.
        dst: target of each link.
        domain: domain of each link.
        edge_feat: features of each link, if links have any.
        invariant: the true flag of each link, if it is known.
        features: what is known of the nodes, step by step.
        pairs: the stored evaluation pairs of all steps; no randomness is left in evaluation.
    """

    name: str
    kind: Kind
    num_nodes: int
    num_src: int
    step_ptr: tuple[int, ...]
    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]
    domain: Int64[Tensor, " link"]
    edge_feat: Float[Tensor, "link edge_dim"] | None
    invariant: Bool[Tensor, " link"] | None
    features: NodeFeatures
    pairs: Pairs
    _made: dict[str, object] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_links(
        cls,
        links: TemporalGraph,
        step: Int64[Tensor, " link"],
        num_steps: int,
        *,
        name: str,
        num_nodes: int,
    ) -> "World":
        """A world of a graph's links without pairs, with the features that the graph brings.

        Args:
            links: a graph, all of whose links lie in the steps.
            step: the step of each link.
            num_steps: how many steps there are.
            name: what the world is called.
            num_nodes: how many node numbers are in use.
        """
        none = torch.empty(0, dtype=torch.int64)
        return cls(
            name=name,
            kind=links.kind,
            num_nodes=num_nodes,
            num_src=links.ids.num_src,
            step_ptr=tuple(torch.searchsorted(step, torch.arange(num_steps + 1)).tolist()),
            src=links.src,
            dst=links.dst,
            domain=torch.zeros_like(links.src) if links.domain is None else links.domain,
            edge_feat=links.edge_feat,
            invariant=links.invariant,
            features=links.node_feat or NodeFeatures(none, none, torch.empty(0, 0)),
            pairs=Pairs.of(none, none, none, none),
        )

    @property
    def num_steps(self) -> int:
        """How many steps the world has."""
        return len(self.step_ptr) - 1

    @property
    def directed(self) -> bool:
        """Whether u to v differs from v to u."""
        return self.kind == "directed"

    @cached_property
    def step_of_link(self) -> Int64[Tensor, " link"]:
        """The step of each link."""
        sizes = torch.tensor(self.step_ptr).diff()
        return torch.arange(self.num_steps).repeat_interleave(sizes)

    def step(self, index: int) -> Step:
        """What happens in one step."""
        rows = slice(self.step_ptr[index], self.step_ptr[index + 1])
        return Step(
            index,
            self.src[rows],
            self.dst[rows],
            self.domain[rows],
            None if self.edge_feat is None else self.edge_feat[rows],
            None if self.invariant is None else self.invariant[rows],
            self.num_nodes,
            self.features,
        )

    def queries(self, pairs: Pairs) -> Queries:
        """Ask about pairs of this world: labels stay behind, features of the ends come along."""
        return Queries.about(pairs, self.features)

    def truncated(self, num_steps: int) -> "World":
        """The same world without the links and pairs of later steps."""
        links = slice(0, self.step_ptr[num_steps])
        return replace(
            self,
            step_ptr=self.step_ptr[: num_steps + 1],
            src=self.src[links],
            dst=self.dst[links],
            domain=self.domain[links],
            edge_feat=None if self.edge_feat is None else self.edge_feat[links],
            invariant=None if self.invariant is None else self.invariant[links],
            pairs=self.pairs.of_steps(range(num_steps)),
        )

    def in_dtype(self, dtype: torch.dtype) -> "World":
        """The same world with its features in another type of number."""
        edge_feat = None if self.edge_feat is None else self.edge_feat.to(dtype)
        if self.features.value.dtype == dtype and edge_feat is self.edge_feat:
            return self
        features = replace(self.features, value=self.features.value.to(dtype))
        return replace(self, features=features, edge_feat=edge_feat)

    def with_links(self, chosen: Bool[Tensor, " link"], *, name: str) -> "World":
        """The same world under another name, with some of its links only; pairs stay."""
        passed = torch.cat([torch.zeros(1, dtype=torch.int64), chosen.cumsum(0)])
        return replace(
            self,
            name=name,
            step_ptr=tuple(passed[torch.tensor(self.step_ptr)].tolist()),
            src=self.src[chosen],
            dst=self.dst[chosen],
            domain=self.domain[chosen],
            edge_feat=None if self.edge_feat is None else self.edge_feat[chosen],
            invariant=None if self.invariant is None else self.invariant[chosen],
        )

    def once(self, key: str, make: Callable[["World"], Made]) -> Made:
        """Keep what is derived from this world alone (a static plan) for as long as it lives."""
        if key not in self._made:
            self._made[key] = make(self)
        return self._made[key]  # type: ignore[return-value]


@runtime_checkable
class PairSource(Protocol):
    """Where training pairs come from: a sampler of negatives, or pairs that are stored."""

    @property
    def name(self) -> str:
        """Its name in `SAMPLERS` (`oodlinker.graph.samplers`)."""
        ...

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """Training pairs of some steps; a new draw of negatives a call."""
        ...


@dataclass(frozen=True, eq=False)
class Split:
    """Which steps train, validate and test; the first of them has no history and no pairs."""

    train: int
    valid: int
    test: int

    @property
    def train_steps(self) -> range:
        """Steps whose links are trained on; step 0 has no history."""
        return range(1, self.train)

    @property
    def valid_steps(self) -> range:
        """Steps that choose the epoch."""
        return range(self.train, self.train + self.valid)

    @property
    def test_steps(self) -> range:
        """Steps that are only measured."""
        return range(self.train + self.valid, self.train + self.valid + self.test)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """All that training may see: no test step, no test world.

    Args:
        world: the training world up to its last validation step.
        split: which steps train and which validate.
        pair_source: where training pairs come from.
    """

    world: World
    split: Split
    pair_source: PairSource

    def draw(self, stream: torch.Generator) -> Pairs:
        """Pairs to train on for one epoch."""
        return self.pair_source.draw(self.world, self.split.train_steps, stream)

    @property
    def valid_pairs(self) -> Pairs:
        """The stored pairs that choose the epoch: in distribution."""
        return self.world.pairs.of_steps(self.split.valid_steps)


@dataclass(frozen=True, eq=False)
class Worlds:
    """A training world and the world that it is tested on, under one protocol.

    Args:
        train: all domains but the held-out one.
        shifted: the held-out domain; None when none is held out (a shift in time alone).
        split: which steps train, validate and test.
        protocol: how features, negatives and history were made.
        pair_source: where training pairs come from.
        domain_names: names of the domain numbers.
        held_out: name of the held-out domain.
        data_seed: seed of the stored evaluation pairs.
        shifted_test_steps: steps measured in the shifted world, where they differ from the split's.
        grid: how raw times became steps; None where there were no raw times.
        fitted: what features were fitted on the training world, by kind, as plain values; empty
            where features came with the graph.
        graph: the graph that the worlds were cut from, where there was one.
        window: the raw times (start, stop) that they were cut to; None for all.
        notes: what was counted on the way (steps short of negatives, ...), for the manifest.
    """

    train: World
    shifted: World | None
    split: Split
    protocol: ProtocolName
    pair_source: PairSource
    domain_names: tuple[Label, ...] = ()
    held_out: Label | None = None
    data_seed: int = 0
    shifted_test_steps: range | None = None
    grid: StepGrid | None = None
    fitted: dict[str, dict[str, Any]] = field(default_factory=dict)
    graph: TemporalGraph | None = None
    window: tuple[int | float | None, int | float | None] | None = None
    notes: dict[str, int | str] = field(default_factory=dict)

    def training_set(self) -> TrainingSet:
        """All that training may see."""
        seen = self.split.train + self.split.valid
        return TrainingSet(
            self.train.truncated(seen), replace(self.split, test=0), self.pair_source
        )

    @property
    def test_pairs(self) -> Pairs:
        """The stored in-distribution test pairs."""
        return self.train.pairs.of_steps(self.split.test_steps)

    @property
    def shifted_pairs(self) -> Pairs:
        """The stored test pairs of the shifted world."""
        if self.shifted is None:
            raise ValueError("no domain is held out: there is no shifted world")
        return self.shifted.pairs.of_steps(self.shifted_test_steps or self.split.test_steps)
