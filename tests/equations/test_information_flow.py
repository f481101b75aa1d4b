"""Who may see what: the prior, the selector, the gradient."""

from dataclasses import replace

import torch

from oodlinker.models.contract import Context, Dims
from oodlinker.models.ood_linker import OODLinker, OODLinkerConfig
from oodlinker.testing import random_world

CONFIG = OODLinkerConfig(hidden=8, head="symmetric", gate="soft", prior_support="links")


def _trained(world, config=CONFIG):
    torch.manual_seed(1)
    return OODLinker(Dims.of(world), config).double().train()


def _rewired(world, step):
    """Other partners in one step, except for its first link."""
    rows = torch.arange(world.step_ptr[step] + 1, world.step_ptr[step + 1])
    dst = world.dst.clone()
    dst[rows] = dst[rows].flip(0).roll(1)
    return replace(world, dst=torch.maximum(world.src, dst), src=torch.minimum(world.src, dst))


def _trace(model, world):
    queries = world.queries(world.pairs)
    return model.rollout(world, queries, Context()).trace


def test_prior_never_sees_the_current_step():
    """Eq. 11 sums over t' < t only: links of t may change q of no link of t."""
    world = random_world(1, nodes=12, steps=6, links=80, dtype=torch.float64, loops=False)
    step = 3
    kept = world.step_ptr[step]
    model = _trained(world)
    before, after = _trace(model, world), _trace(model, _rewired(world, step))
    assert torch.equal(before["prior_prob"][: kept + 1], after["prior_prob"][: kept + 1])


def test_selector_sees_the_current_step():
    """Eq. 7 adds the links of t at weight 1: rewiring others may change p of a kept link."""
    world = random_world(1, nodes=12, steps=6, links=80, dtype=torch.float64, loops=False)
    step = 3
    kept = world.step_ptr[step]
    model = _trained(world)
    before, after = _trace(model, world), _trace(model, _rewired(world, step))
    assert torch.equal(before["prob"][:kept], after["prob"][:kept])
    assert not torch.equal(before["prob"][kept], after["prob"][kept])


def test_detached_history_gives_other_gradients_and_the_same_scores():
    """method.md row 24: the flag cuts gradients, not values."""
    world = random_world(2, nodes=12, steps=6, links=80, dtype=torch.float64)
    queries = world.queries(world.pairs)
    found = {}
    for detach in (False, True):
        model = _trained(world, replace(CONFIG, detach_history=detach))
        logits = model.rollout(world, queries, Context()).logits
        torch.autograd.backward(logits.sum())
        found[detach] = logits.detach(), model.selector.represent.history.weight.grad
    assert torch.equal(found[False][0], found[True][0])
    assert not torch.allclose(found[False][1], found[True][1])


def test_logits_of_both_orders_agree_in_undirected_graphs_only():
    """method.md row 22: P(u, v) = P(v, u) without a direction, and not with one."""
    for kind, equal in (("undirected", True), ("directed", False)):
        world = random_world(3, kind, nodes=12, steps=6, links=80, dtype=torch.float64)
        for head in ("concat", "symmetric", "cosine"):
            model = _trained(world, replace(CONFIG, head=head)).eval()
            pairs = world.pairs
            turned = replace(pairs, src=pairs.dst, dst=pairs.src)
            ours = model.rollout(world, world.queries(pairs), Context()).logits
            other = model.rollout(world, world.queries(turned), Context()).logits
            assert torch.allclose(ours, other, rtol=0, atol=1e-12) is equal, (kind, head)


def test_concrete_gates_draw_anew_each_epoch_and_repeat_with_the_seed():
    """method.md row 23: one draw per link and pass, from a named stream."""
    world = random_world(3, nodes=12, steps=6, links=80)
    queries = world.queries(world.pairs)
    model = _trained(world, replace(CONFIG, gate="concrete")).float()
    first = model.rollout(world, queries, Context(seed=1, epoch=0)).logits
    again = model.rollout(world, queries, Context(seed=1, epoch=0)).logits
    later = model.rollout(world, queries, Context(seed=1, epoch=1)).logits
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    quiet = model.eval().rollout(world, queries, Context(seed=1, epoch=0)).logits
    assert torch.equal(quiet, model.rollout(world, queries, Context(seed=1, epoch=1)).logits)
