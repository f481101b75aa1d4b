"""Scores of a method on stored pairs, the same for trained and parameter-free methods."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from oodlinker.errors import BadMethod, BadProtocol
from oodlinker.graph.metrics import METRICS, PROTOCOL_METRICS, per_step
from oodlinker.graph.queries import NO_GROUP, Pairs
from oodlinker.graph.worlds import ProtocolName, World
from oodlinker.models.contract import Context, LinkModel

BATCH = 1 << 20
_OVER_STEPS = ("auc", "ap")


def score_pairs(
    model: LinkModel, world: World, pairs: Pairs, *, batch: int = BATCH
) -> Float[Tensor, " query"]:
    """Logits of pairs, in eval mode and without gradient.

    Args:
        model: any method; its mode stays as it was.
        world: its links are the history that passes messages.
        pairs: what is asked; labels are not looked at.
        batch: so many pairs are asked at once, which bounds the memory of large rankings.
    """
    with scoring(model, world) as (seen, context):
        parts = [
            model.rollout(seen, seen.queries(pairs.take(rows)), context).logits
            for rows in torch.split(torch.arange(len(pairs)), batch)
        ]
    return torch.cat(parts)


@contextmanager
def scoring(model: LinkModel, world: World) -> Iterator[tuple[World, Context]]:
    """Eval mode without gradient while the block runs; the model's mode comes back after it.

    Args:
        model: any method.
        world: what it will read.

    Yields:
        The world in the model's type of number, and the context of a refreshed model.
    """
    dtype = next((one.dtype for one in model.parameters()), world.features.value.dtype)
    world = world.in_dtype(dtype)
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield world, Context(aux=model.refresh(world, Context()))
    finally:
        model.train(was_training)


def measure(
    logits: Float[Tensor, " query"], pairs: Pairs, protocol: ProtocolName
) -> dict[str, float]:
    """The metrics of a protocol: AUC and AP as means over steps, ranks as means over positives.

    Args:
        logits: one score a pair.
        pairs: what was asked, with its answers.
        protocol: how the pairs were made.

    Returns:
        Values by name, the protocol's headline first; nan where a metric is not defined.

    Raises:
        BadMethod: some scores are nan.
        BadProtocol: `deployed` ranks, and some pairs have no group to be ranked in.
    """
    wrong = int(logits.isnan().sum())
    if wrong:
        raise BadMethod(f"{wrong} of {len(pairs)} scores are nan", "Look for 0 / 0 in the method.")
    if protocol == "deployed" and bool((pairs.group == NO_GROUP).any()):
        raise BadProtocol(
            "the protocol deployed ranks each positive among its candidates; these pairs have none",
            "Make the worlds with hold_out(..., protocol='deployed').",
        )
    return {
        name: per_step(METRICS[name], logits, pairs.label, pairs.step)
        if name in _OVER_STEPS
        else METRICS[name](logits, pairs.label, pairs.group)
        for name in PROTOCOL_METRICS[protocol]
    }


def evaluate(
    model: LinkModel, world: World, pairs: Pairs, protocol: ProtocolName
) -> dict[str, float]:
    """Score pairs of a world and measure the scores; arguments as of the two functions above."""
    return measure(score_pairs(model, world, pairs), pairs, protocol)
