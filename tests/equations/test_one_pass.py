"""One exact pass equals Algorithm 1's recursion: logits, penalty and every gradient."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from equations.oracle import Oracle
from oodlinker.models.contract import Context, Dims
from oodlinker.models.ood_linker import OODLinker, OODLinkerConfig
from oodlinker.models.selector import logistic_noise
from oodlinker.testing import check_method, random_world

SMALL = OODLinkerConfig(
    hidden=7, head="symmetric", gate="soft", prior_support="links", kl_reduction="query_mean"
)
LITERAL = replace(
    SMALL, head="concat", log_scale=False, time_dim=3, edge_code="constant", last_step="one"
)
OPTIONS = {
    "symmetric": SMALL,
    "literal": replace(LITERAL, count=False, decayed_count=False, kl_reduction="literal_sum"),
    "literal, newest selected": replace(LITERAL, last_step="selected", temperature=0.7),
    "cosine": replace(SMALL, head="cosine", kl_reduction="link_mean"),
    "cosine, newest at weight 1": replace(SMALL, head="cosine", last_step="one"),
    "concrete": replace(SMALL, gate="concrete", gate_temperature=0.8, time_dim=2),
    "detached": replace(SMALL, detach_history=True, head="concat"),
    "own link features": replace(SMALL, edge_code="links", kl_reduction="pooled_mean"),
    "fixed prior": replace(SMALL, prior="fixed", prior_rate=0.3),
    "all links": replace(SMALL, selection="all", time_dim=2),
    "all links, literal": replace(LITERAL, selection="all", decayed_count=False),
    "given links": replace(SMALL, selection="given", last_step="one"),
}


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
@pytest.mark.parametrize("name", OPTIONS)
def test_one_pass_equals_the_recursion_per_query(name, kind):
    """method.md, "Exact evaluation in one pass": logits, KL and gradients, in float64."""
    world, model, queries, labels = _case(name, kind, seed=len(name))
    ours = _by_pass(model, world, queries, labels)
    truth = _by_recursion(model, world, queries, labels)
    for key, expected in truth.items():
        _assert_close(ours[key], expected, 1e-10, f"{name}, {kind}: {key}")


@pytest.mark.parametrize("name", ["symmetric", "literal, newest selected", "cosine"])
def test_one_pass_in_single_precision_stays_within_1e_5(name):
    """The same in float32, relative to the largest entry of each tensor."""
    world, model, queries, labels = _case(name, "undirected", seed=3)
    single = copy.deepcopy(model).float()
    double = copy.deepcopy(single).double()  # the same parameters to the last bit
    ours = _by_pass(single, world, queries, labels)
    truth = _by_recursion(double, world, queries, labels)
    for key, expected in truth.items():
        _assert_close(ours[key].double(), expected, 1e-5, f"{name}: {key}")


def _case(name, kind, seed):
    world = random_world(
        seed, kind, nodes=9, steps=5, links=26, edge_dim=2, changing=True, dtype=torch.float64
    )
    torch.manual_seed(seed)
    model = OODLinker(Dims.of(world), OPTIONS[name]).double().train()
    queries = world.queries(world.pairs)
    return world, model, queries, world.pairs.label


def _by_pass(model, world, queries, labels):
    model.zero_grad()
    scores = model.rollout(world, queries, Context(seed=5))
    terms = model.terms(scores, queries, labels, Context(seed=5))
    values = {"logits": scores.logits}
    loss = terms["task"].mean
    if "kl" in terms:
        values["penalty"] = terms["kl"].mean
        loss = loss + 0.3 * terms["kl"].mean
    loss.backward()
    return values | _gradients(model)


def _by_recursion(model, world, queries, labels):
    model.zero_grad()
    noise = None
    if model.config.gate == "concrete" and model.selector is not None:
        links = world.step_ptr[int(queries.end_step.max()) + 1]
        noise = logistic_noise(
            links, next(model.head.parameters()), Context(seed=5).stream("gates")
        )
    oracle = Oracle(model, world, noise)
    asked = zip(
        queries.src_node.tolist(), queries.dst_node.tolist(), queries.step.tolist(), strict=True
    )
    logits = torch.stack([oracle.logit(*one) for one in asked])
    values = {"logits": logits}
    loss = F.binary_cross_entropy_with_logits(logits, labels.double())
    if model.selector is not None:
        values["penalty"] = oracle.penalty(queries, model.config.kl_reduction)
        loss = loss + 0.3 * values["penalty"]
    loss.backward()
    return values | _gradients(model)


def _gradients(model):
    return {
        name: torch.zeros_like(one) if one.grad is None else one.grad.clone()
        for name, one in model.named_parameters()
    }


def _assert_close(ours, truth, tolerance, what):
    largest = max(float(truth.detach().abs().max()) if truth.numel() else 0.0, 1e-12)
    error = float((ours.detach() - truth.detach()).abs().max()) if truth.numel() else 0.0
    assert error <= tolerance * largest, (
        f"{what}: off by {error / largest:.1e} of its largest entry"
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_every_reading_keeps_the_contract(name):
    """house.md, "The contract of a method", for each reading and not only for the default."""
    edges = OPTIONS[name].edge_code == "links"

    def make(dims: Dims) -> OODLinker:
        config = OPTIONS[name]
        if edges and not dims.edge:  # worlds without link features cannot sum them
            config = replace(config, edge_code="off")
        return OODLinker(dims, config)

    check_method(make, kinds=("directed",), rules=("fold-equals-rollout", "ignores-the-future"))
