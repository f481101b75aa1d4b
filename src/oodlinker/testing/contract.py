"""The contract of a method, as rules that run on ours and on a user's.

    from oodlinker.testing import check_method
    check_method(MyModel)                 # MyModel(dims) builds one

Every rule builds the method on small random worlds in float64, with shaken weights (so that a zero
start hides nothing), and compares numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import torch
from safetensors.torch import load, save

from oodlinker.errors import BadMethod, OODLinkerError
from oodlinker.graph.temporal import KINDS, Kind
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Dims, LinkModel, Spec, State
from oodlinker.testing.case import Case, Make, require_equal, weights_of
from oodlinker.testing.fitting import check_fit_teaches, check_fits_alike
from oodlinker.testing.random_world import edit_future, random_pairs, random_world, relabel


def declares_itself(case: Case) -> None:
    """It is a `LinkModel` whose `spec` is complete and says truly whether it trains."""
    model = case.built()
    spec = getattr(model, "spec", None)
    if not isinstance(model, LinkModel) or not isinstance(spec, Spec):
        raise BadMethod("it is no LinkModel with a `spec`.", "Subclass LinkModel; set spec = Spec.")
    if not (spec.summary and spec.reference and spec.cost):
        raise BadMethod("its `spec` lacks a summary, a reference or a cost.")
    if not spec.gradient:
        if weights_of(model) or type(model).fit_pairs is LinkModel.fit_pairs:
            raise BadMethod("its spec says gradient=False: it needs fit_pairs, not parameters.")
    elif spec.trains != bool(weights_of(model)):
        raise BadMethod(f"its spec says trains={spec.trains}, its parameters say otherwise.")


def scores_every_query(case: Case) -> None:
    """One finite score a query: unseen nodes, empty steps, one node, loops, repeats, no query."""
    logits = case.logits()
    if logits.shape != (len(case.pairs),):
        raise BadMethod(f"{len(case.pairs)} queries get logits of shape {[*logits.shape]}.")
    if not bool(logits.isfinite().all()):
        raise BadMethod("some logits are not finite.", "Look for log 0, 0 / 0 and empty maxima.")
    if case.logits(pairs=case.pairs.of_steps(range(0))).numel():
        raise BadMethod("where nothing is asked it gives scores all the same.")


def fold_equals_rollout(case: Case) -> None:
    """`rollout` gives what `start`, `advance` and `score` give step by step."""
    queries = case.world.queries(case.pairs)
    with torch.no_grad():
        folded = LinkModel.rollout(case.model(), case.world, queries, Context()).logits
    require_equal(
        case.logits(),
        folded,
        "`rollout` differs from folding `advance` and `score`",
        "In both, a query about step t sees what is known once step t - 1 has closed.",
    )


def ignores_the_future(case: Case) -> None:
    """Links, features and labels of step t and later change no score of steps up to t."""
    whole = case.logits()
    for step in range(case.world.num_steps + 1):
        asked = case.pairs.step <= step
        edited = case.logits(edit_future(case.world, step, seed=step))[asked]
        cut = case.logits(case.world.truncated(step), case.pairs.take(asked))
        for other, what in ((edited, "change"), (cut, "are cut off")):
            require_equal(
                other,
                whole[asked],
                f"it looks into the future: when links, features or labels from step {step} on "
                f"{what}, scores of step {step} or earlier differ",
                "A query about step t may use steps before t only, and no label of world.pairs.",
            )


def forgets_order(case: Case) -> None:
    """Node numbers, the order of links in a step and of undirected ends do not matter."""
    for nodes, what in ((False, "order of the links within a step"), (True, "nodes' numbers")):
        require_equal(
            case.logits(*relabel(case.world, case.pairs, seed=1, nodes=nodes)),
            case.logits(),
            f"scores depend on the {what}, or on which end of an undirected pair comes first",
            "Sum over links, and treat both ends of an undirected pair alike.",
        )


def scores_queries_alone(case: Case) -> None:
    """A query's score does not depend on what else is asked."""
    together = case.logits()
    for row in range(0, len(case.pairs), 5):
        require_equal(
            case.logits(pairs=case.pairs.take(torch.tensor([row]))),
            together[row : row + 1],
            "a query asked alone scores differently than among others",
            "In eval mode nothing may be normalised or ranked over the batch of queries.",
        )


def keeps_state_outside(case: Case) -> None:
    """`advance` is pure: no state lives on the module, no earlier state is changed."""
    steps = range(case.world.num_steps)
    model = case.model()
    alone = case.last_logits(model, case.after(model, steps))
    stranger = replace(case, world=edit_future(case.world, 0, seed=9))
    state, other = case.after(model, range(0)), stranger.after(model, range(0))
    for index in steps:
        before = {name: table.clone() for name, table in state.to_tensors().items()}
        following = case.after(model, range(index, index + 1), state)
        other = stranger.after(model, range(index, index + 1), other)
        if any(not torch.equal(table, before[name]) for name, table in state.to_tensors().items()):
            raise BadMethod("`advance` changes the state that it is given.", "Return a new one.")
        state = following
        if (state.clock, state.num_nodes) != (index, case.world.num_nodes):
            raise BadMethod(f"after step {index} its state has another clock or number of nodes.")
    require_equal(
        case.last_logits(model, state),
        alone,
        "two histories that are advanced in turn mix: some state lives on the module",
        "Put all that is remembered into the State that `advance` returns.",
    )


def saves_its_state(case: Case) -> None:
    """A state that is written as safetensors and read again goes on with equal scores."""
    model, half = case.model(), case.world.num_steps // 2
    early, late = range(half), range(half, case.world.num_steps)
    state = case.after(model, early)
    again = State.from_tensors(load(save(state.to_tensors())))
    require_equal(
        case.last_logits(model, case.after(model, late, again)),
        case.last_logits(model, case.after(model, late, state)),
        "a state that was saved and loaded goes on differently",
        "Keep all that is remembered in State.nodes and State.links.",
    )


def welcomes_new_nodes(case: Case) -> None:
    """A state can grow: old nodes score as before, new ones can be asked about and linked."""
    model, last, old = case.model(), case.world.num_steps, case.world.num_nodes
    state = case.after(model, range(last))
    grown = state.grown(old + 4)
    require_equal(
        case.last_logits(model, grown),
        case.last_logits(model, state),
        "old nodes score differently once a state has room for more",
        "Keep one row a node in State.nodes, zeros for a node without history.",
    )
    asked = random_pairs(3, old + 4, case.world.num_src, range(last, last + 2))
    late = replace(case, pairs=replace(asked, dst=old + asked.dst % 4))
    if model.spec.state == "sums":
        larger = replace(case, world=replace(case.world, num_nodes=old + 4))
        require_equal(
            late.last_logits(model, grown),
            late.last_logits(model, larger.after(model, range(last))),
            "a node without links scores differently if it was numbered early",
            "A node without history is a row of zeros in every sum.",
        )
    step = case.world.step(0)
    step = replace(step, index=last, num_nodes=old + 4, dst=old + step.dst % 4)
    following = late.pairs.of_steps(range(last + 1, last + 2))
    with torch.no_grad():
        linked = model.score(model.advance(grown, step), case.world.queries(following)).logits
    if not bool(torch.cat([late.last_logits(model, grown), linked]).isfinite().all()):
        raise BadMethod("queries about new nodes get scores that are not finite.")


def repeats_itself(case: Case) -> None:
    """The same seed gives the same bits, whatever torch's global seed; eval mode draws nothing."""
    if not case.built().spec.gradient:
        check_fits_alike(case.make, Dims.of(case.world), case.world.kind)
    if not torch.equal(case.logits(), case.logits(context=Context(seed=7, epoch=5))):
        raise BadMethod("in eval mode its scores depend on the seed or the epoch of the context.")
    passes = []
    for global_seed in (1, 2):
        model = case.model().train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(global_seed)
            loss, logits = case.training_pass(model)
            if loss.requires_grad:
                torch.autograd.backward(loss)
        grads = [weight.grad for weight in weights_of(model) if weight.grad is not None]
        passes.append([logits.detach(), loss.detach(), *grads])
    first, second = passes
    if len(first) != len(second) or not all(map(torch.equal, first, second)):
        raise BadMethod(
            "the same seed gives other scores, losses or gradients in training mode.",
            "Draw every random number from context.stream(purpose); gather with index_select.",
        )


def trains_every_weight(case: Case) -> None:
    """The sum of the terms sends a finite gradient that is not all zeros to every parameter.

    A method that learns without gradients changes its buffers when it is fitted, finite ones.
    """
    if not case.built().spec.gradient:
        check_fit_teaches(case.make, Dims.of(case.world), case.world.kind)
        return
    model = case.model().train()
    if not weights_of(model):
        return
    loss, _ = case.training_pass(model)
    if loss.requires_grad:
        torch.autograd.backward(loss)
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        if weight.grad is None or not bool((weight.grad != 0).any()):
            raise BadMethod(f"no gradient reaches its parameter {name!r}.")
        if not bool(weight.grad.isfinite().all()):
            raise BadMethod(f"the gradient of its parameter {name!r} is not finite.")


Rule = Callable[[Case], None]
RULES: dict[str, Rule] = {
    "declares-itself": declares_itself,
    "scores-every-query": scores_every_query,
    "fold-equals-rollout": fold_equals_rollout,
    "ignores-the-future": ignores_the_future,
    "forgets-order": forgets_order,
    "scores-queries-alone": scores_queries_alone,
    "keeps-state-outside": keeps_state_outside,
    "saves-its-state": saves_its_state,
    "welcomes-new-nodes": welcomes_new_nodes,
    "repeats-itself": repeats_itself,
    "trains-every-weight": trains_every_weight,
}
SMALL = ("linkless", "tiny")  # worlds that cannot train every weight


def check_method(
    make: Make, *, kinds: Iterable[Kind] = KINDS, rules: Iterable[str] = tuple(RULES)
) -> None:
    """Run the contract tests on a method.

    Args:
        make: builds the method from `Dims`: a `LinkModel` class, or a function that calls one.
        kinds: the kinds of graph that the method claims to work on.
        rules: names out of `RULES`; by default all.

    Raises:
        BadMethod: a rule is broken; the text names the rule and the world that shows it.
    """
    for case in _cases(make, kinds):
        for name in rules:
            if name == "trains-every-weight" and case.title.startswith(SMALL):
                continue
            where = f"rule {name}, {case.title}"
            try:
                RULES[name](case)
            except OODLinkerError as error:
                raise BadMethod(error.what, error.remedy, where=where) from error
            except Exception as error:
                raise BadMethod(
                    f"it fails with {type(error).__name__}: {error}", where=where
                ) from error


def _cases(make: Make, kinds: Iterable[Kind]) -> Iterator[Case]:
    double = torch.float64
    for kind in kinds:
        worlds: dict[str, World] = {
            "plain": random_world(0, kind, dtype=double),
            "crowded": random_world(1, kind, edge_dim=3, changing=True, dtype=double),
            "late": random_world(2, kind, empty_steps=(0, 5), loops=False, dtype=double),
            "linkless": random_world(3, kind, nodes=6, links=0, dtype=double),
            "tiny": random_world(4, kind, nodes=2 if kind == "bipartite" else 1, dtype=double),
        }
        for title, world in worlds.items():
            asked = random_pairs(5, world.num_nodes, world.num_src, range(world.num_steps + 1))
            yield Case(make, f"{title} {kind} world", world, asked)
