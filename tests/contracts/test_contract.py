"""The contract tests run on every method, and they catch methods that break one rule each."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from oodlinker.errors import BadMethod
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.worlds import Step, TrainingSet, World
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State
from oodlinker.testing import RULES, check_method


def all_methods() -> dict[str, Callable[[Dims], LinkModel]]:
    """Every entry of the catalog; the trivial methods alone while there is none."""
    if importlib.util.find_spec("oodlinker.catalog") is not None:
        return dict(importlib.import_module("oodlinker.catalog").MODELS)
    return dict(importlib.import_module("oodlinker.models.heuristics").HEURISTICS)


METHODS = all_methods()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("rule", RULES)
def test_method_keeps_the_contract(name: str, rule: str) -> None:
    """house.md, "The contract of a method": every entry of MODELS keeps every rule."""
    check_method(METHODS[name], rules=[rule])


class Degrees(LinkModel):
    """An honest learned method: a linear map of features and link counts of both ends, summed."""

    spec = Spec("sums", "Degrees, weighted.", "made for this test", "O(links)")

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.linear = nn.Linear(dims.node + 1, 1)

    def start(self, num_nodes: int) -> State:
        return State(-1, num_nodes, {"degree": torch.zeros(num_nodes, dtype=torch.float64)})

    def advance(self, state: State, step: Step) -> State:
        return state.closed(step, degree=self.counted(state.nodes["degree"], step))

    def counted(self, degree: Tensor, step: Step) -> Tensor:
        ends = torch.cat([step.src, step.dst])
        return degree.index_add(0, ends, degree.new_ones(ends.numel()))

    def score(self, state: State, queries: Queries) -> Scores:
        count = state.nodes["degree"].index_select(0, queries.end_node).to(queries.end_feat)
        ends = self.linear(torch.cat([queries.end_feat, count.unsqueeze(1)], dim=1)).flatten()
        return Scores(ends.index_select(0, queries.src) + ends.index_select(0, queries.dst))


def test_honest_method_passes() -> None:
    """A method that keeps the contract is not refused."""
    check_method(Degrees)


class Nameless(Degrees):
    """Claims to have no parameters."""

    spec = replace(Degrees.spec, trains=False)


class Divides(Degrees):
    """Divides by the degree of the ends, which is zero for new nodes."""

    def score(self, state: State, queries: Queries) -> Scores:
        count = state.nodes["degree"].index_select(0, queries.end_node)
        return Scores((1 / count).index_select(0, queries.src).to(queries.end_feat))


class Shortcut(Degrees):
    """Its fast path forgets one step of history."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        shorter = replace(world.truncated(0), step_ptr=(0,))
        return super().rollout(shorter, queries, context)


class Prophet(Degrees):
    """Adds how often the first end links in the whole world, later steps too."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        total = torch.bincount(world.src, minlength=world.num_nodes)
        logits = super().rollout(world, queries, context).logits
        return Scores(logits + total.index_select(0, queries.src_node))


class LabelReader(Degrees):
    """Reads the answers that are stored beside the world."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        logits = super().rollout(world, queries, context).logits
        return Scores(logits + world.pairs.label.sum())


class LaterFeatures(Degrees):
    """Reads the features that nodes will have at the end."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        last = world.features.rows(queries.end_node, 99)
        return super().rollout(world, replace(queries, end_feat=last), context)


class Numbered(Degrees):
    """Reads the numbers of the nodes."""

    def score(self, state: State, queries: Queries) -> Scores:
        return Scores(super().score(state, queries).logits + queries.src_node)


class Ordered(Degrees):
    """Weighs the links of a step by their place in it."""

    def counted(self, degree: Tensor, step: Step) -> Tensor:
        place = torch.arange(step.src.numel(), dtype=torch.float64)
        return degree.index_add(0, step.src, place).index_add(0, step.dst, place)


class Oriented(Degrees):
    """Gives both ends of an undirected pair different weights."""

    def score(self, state: State, queries: Queries) -> Scores:
        return Scores(super().score(state, queries).logits + queries.end_feat[queries.src, 0])


class Normalised(Degrees):
    """Subtracts the mean over the batch of queries."""

    def score(self, state: State, queries: Queries) -> Scores:
        logits = super().score(state, queries).logits
        return Scores(logits - logits.mean() if len(queries) else logits)


class Haunted(Degrees):
    """Keeps its recurrent state on the module, as reported ports of EvolveGCN do."""

    def start(self, num_nodes: int) -> State:
        self.degree = torch.zeros(num_nodes, dtype=torch.float64)
        return State(-1, num_nodes)

    def advance(self, state: State, step: Step) -> State:
        self.degree = self.counted(self.degree, step)
        return state.closed(step)

    def score(self, state: State, queries: Queries) -> Scores:
        return super().score(replace(state, nodes={"degree": self.degree}), queries)


class InPlace(Degrees):
    """Adds to the state that it is given."""

    def advance(self, state: State, step: Step) -> State:
        state.nodes["degree"].copy_(self.counted(state.nodes["degree"], step))
        return state.closed(step)


@dataclass(frozen=True, eq=False)
class Noted(State):
    """A state with a note that `to_tensors` does not know of."""

    note: float = 0.0


class Unsaved(Degrees):
    """Keeps a part of its state where it is not saved."""

    def start(self, num_nodes: int) -> State:
        return Noted(-1, num_nodes, super().start(num_nodes).nodes)

    def advance(self, state: State, step: Step) -> State:
        noted = getattr(state, "note", 0.0) + step.src.numel()
        closed = super().advance(state, step)
        return Noted(closed.clock, closed.num_nodes, closed.nodes, note=noted)

    def score(self, state: State, queries: Queries) -> Scores:
        return Scores(super().score(state, queries).logits + getattr(state, "note", 0.0))


class Rigid(Degrees):
    """Keeps one row a node where no room for new nodes is made."""

    def start(self, num_nodes: int) -> State:
        return State(-1, num_nodes, links=super().start(num_nodes).nodes)

    def advance(self, state: State, step: Step) -> State:
        degree = self.counted(state.links["degree"], step)
        return replace(state.closed(step), links={"degree": degree})

    def score(self, state: State, queries: Queries) -> Scores:
        return super().score(replace(state, nodes=state.links), queries)


class EarlyBirds(Degrees):
    """Gives every node that is numbered at the start one link for free."""

    def start(self, num_nodes: int) -> State:
        return State(-1, num_nodes, {"degree": torch.ones(num_nodes, dtype=torch.float64)})


class Dropout(Degrees):
    """Draws from torch's global generator in training."""

    def score(self, state: State, queries: Queries) -> Scores:
        dropped = F.dropout(queries.end_feat, 0.5, self.training)
        return super().score(state, replace(queries, end_feat=dropped))


class Noisy(Degrees):
    """Draws numbers in eval mode."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        logits = super().rollout(world, queries, context).logits
        return Scores(logits + torch.rand(1, generator=context.stream("noise")))


class Idle(Degrees):
    """Has a parameter that nothing reads."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.idle = nn.Parameter(torch.ones(2))


class Rooted(Degrees):
    """Takes the square root of zero: finite scores, endless gradients."""

    def score(self, state: State, queries: Queries) -> Scores:
        logits = super().score(state, queries).logits
        return Scores(logits + (logits - logits.detach()).sqrt())


class Counted(LinkModel):
    """An honest method without gradients: the mean label of pairs whose ends linked so often."""

    spec = Spec("sums", "Mean labels.", "made for this test", "O(links)", gradient=False)

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.register_buffer("mean", torch.zeros(8, dtype=torch.float64))

    def start(self, num_nodes: int) -> State:
        return State(-1, num_nodes, {"degree": torch.zeros(num_nodes, dtype=torch.float64)})

    def advance(self, state: State, step: Step) -> State:
        degree, ends = state.nodes["degree"], torch.cat([step.src, step.dst])
        one = degree.new_ones(ends.numel())
        return state.closed(step, degree=degree.index_add(0, ends, one))

    def score(self, state: State, queries: Queries) -> Scores:
        degree = state.nodes["degree"].index_select(0, queries.end_node)
        sums = degree.index_select(0, queries.src) + degree.index_select(0, queries.dst)
        return Scores(self.mean[sums.long().clamp(max=7)])

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        queries, label = training.world.queries(pairs), pairs.label.double()
        self.mean.copy_(torch.arange(8.0))
        place = self.rollout(training.world, queries, context).logits.long()
        total = torch.zeros(8, dtype=torch.float64).index_add_(0, place, label)
        self.mean.copy_(total / torch.bincount(place, minlength=8).clamp(min=1))
        return self.rollout(training.world, queries, context)


def test_honest_method_without_gradients_passes() -> None:
    """A method that learns from pairs through `fit_pairs` alone is not refused."""
    check_method(Counted)


class Pathless(Degrees):
    """Says that it learns without gradients, but not how."""

    spec = replace(Degrees.spec, gradient=False)


class Unteachable(Counted):
    """Is fitted and learns nothing."""

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        return self.rollout(training.world, training.world.queries(pairs), context)


class Swelling(Counted):
    """Keeps a buffer that no fresh module has room for."""

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        scores = super().fit_pairs(training, pairs, context)
        self.mean = torch.cat([self.mean, self.mean])
        return scores


class Whimsical(Counted):
    """Learns from torch's global stream."""

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        scores = super().fit_pairs(training, pairs, context)
        self.mean.add_(torch.rand(8))
        return scores


class Overflowing(Counted):
    """Divides by the number of pairs of a kind that there is none of."""

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        scores = super().fit_pairs(training, pairs, context)
        self.mean.div_(0)
        return scores


BROKEN: list[tuple[type[LinkModel], str]] = [
    (Nameless, "declares-itself"),
    (Divides, "scores-every-query"),
    (Shortcut, "fold-equals-rollout"),
    (Noisy, "repeats-itself"),
    (Prophet, "ignores-the-future"),
    (LabelReader, "ignores-the-future"),
    (LaterFeatures, "ignores-the-future"),
    (Numbered, "forgets-order"),
    (Ordered, "forgets-order"),
    (Oriented, "forgets-order"),
    (Normalised, "scores-queries-alone"),
    (Haunted, "keeps-state-outside"),
    (InPlace, "keeps-state-outside"),
    (Unsaved, "saves-its-state"),
    (Rigid, "welcomes-new-nodes"),
    (EarlyBirds, "welcomes-new-nodes"),
    (Dropout, "repeats-itself"),
    (Idle, "trains-every-weight"),
    (Rooted, "trains-every-weight"),
    (Pathless, "declares-itself"),
    (Whimsical, "repeats-itself"),
    (Unteachable, "trains-every-weight"),
    (Overflowing, "trains-every-weight"),
]


@pytest.mark.parametrize(("broken", "rule"), BROKEN, ids=lambda one: getattr(one, "__name__", one))
def test_broken_method_is_caught(broken: type[LinkModel], rule: str) -> None:
    """Each rule can fail: a method that breaks it is refused, and the text names the rule."""
    with pytest.raises(BadMethod, match=f"rule {rule}"):
        check_method(broken, rules=[rule])


def test_fitted_buffers_that_do_not_fit_a_fresh_module_are_caught() -> None:
    """A run folder is loaded into a fresh module: what is learned keeps its shape."""
    with pytest.raises(BadMethod, match=r"rule trains-every-weight.*other names or shapes"):
        check_method(Swelling, rules=["trains-every-weight"])


def test_every_rule_has_a_method_that_breaks_it() -> None:
    """A rule that nothing can break would be no test."""
    assert {rule for _, rule in BROKEN} == set(RULES)


def test_failing_code_is_reported_as_a_broken_rule() -> None:
    """A user sees a sentence, not a traceback, when the method itself raises."""

    class Raises(Degrees):
        def score(self, state: State, queries: Queries) -> Scores:
            raise IndexError("no such row")

    with pytest.raises(BadMethod, match="fails with IndexError: no such row"):
        check_method(Raises)


def test_kinds_limit_the_worlds() -> None:
    """A method for directed graphs alone is tested on directed graphs alone."""

    class DirectedOnly(Oriented):
        def __init__(self, dims: Dims) -> None:
            super().__init__(dims)
            if not dims.directed:
                raise BadMethod("directed graphs only")

    check_method(DirectedOnly, kinds=["directed"])
