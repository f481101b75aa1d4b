"""What goes wrong while training, found early and called by its name."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from oodlinker.errors import TrainingDiverged
from oodlinker.graph.queries import Queries
from oodlinker.models.contract import Scores
from oodlinker.objectives.contract import Term
from oodlinker.train.config import TrainConfig

CONSTANT_WITHIN = 0.02
NEAR_ZERO_OR_ONE = 0.02
_TRIMMED = 1000  # one link in so many may lie outside at either end


class SelectorCollapse(UserWarning):
    """The selector weighs all links alike: it selects nothing, or everything, or at random."""


def check_loss(
    loss: Float[Tensor, ""],
    terms: Mapping[str, Term],
    scores: Scores,
    queries: Queries,
    epoch: int,
    config: TrainConfig,
) -> None:
    """Stop before a loss that is not finite reaches the weights.

    Raises:
        TrainingDiverged: naming the epoch, the terms, and the step whose queries broke first.
    """
    if bool(loss.isfinite()):
        return
    broken = [name for name, term in terms.items() if not bool(term.total.isfinite().all())]
    which = f" (its terms {', '.join(broken)})" if broken else ""
    rows = ~scores.logits.detach().isfinite()
    first = f", first for queries about step {int(queries.step[rows].min())}" if rows.any() else ""
    raise _diverged(f"the loss is {loss.item()} in epoch {epoch}{which}{first}", epoch, config)


def check_gradient(
    norm: Float[Tensor, ""], model: nn.Module, epoch: int, config: TrainConfig
) -> None:
    """Stop before a gradient that is not finite reaches the weights.

    Raises:
        TrainingDiverged: naming the epoch and the parameters.
    """
    if bool(norm.isfinite()):
        return
    broken = [
        name
        for name, weight in model.named_parameters()
        if weight.grad is not None and not bool(weight.grad.isfinite().all())
    ]
    of_what = ", ".join(broken[:3]) + (", ..." if len(broken) > 3 else "")
    raise _diverged(
        f"the gradient is {norm.item()} in epoch {epoch}" + (f" (of {of_what})" if broken else ""),
        epoch,
        config,
    )


def check_weights(model: nn.Module, epoch: int, config: TrainConfig) -> None:
    """Stop when a step of the optimiser made a weight that is not finite.

    Raises:
        TrainingDiverged: naming the epoch and the parameter.
    """
    for name, weight in model.named_parameters():
        if not bool(weight.detach().isfinite().all()):
            raise _diverged(f"{name} is no longer finite in epoch {epoch}", epoch, config)


def check_logits(logits: Float[Tensor, " query"], epoch: int, config: TrainConfig) -> None:
    """Stop when validation scores have no order.

    Raises:
        TrainingDiverged: naming the epoch.
    """
    if bool(logits.isnan().any()):
        raise _diverged(f"validation scores are nan after epoch {epoch}", epoch, config)


def find_collapse(prob: Float[Tensor, " link"]) -> str | None:
    """Say how a selection has collapsed, or None.

    A thousandth of the links may lie outside at either end, so that one odd link hides nothing.

    Args:
        prob: p of every training link.
    """
    if prob.numel() < 2:
        return None
    values = prob.detach()
    outside = values.numel() // _TRIMMED
    low = float(values.kthvalue(outside + 1).values)
    high = float(values.kthvalue(values.numel() - outside).values)
    if high <= NEAR_ZERO_OR_ONE:
        return f"p is near 0 for all links (at most {high:.3f})"
    if low >= 1 - NEAR_ZERO_OR_ONE:
        return f"p is near 1 for all links (at least {low:.3f})"
    if high - low <= CONSTANT_WITHIN:
        return f"p is nearly the same for all links ({low:.3f} to {high:.3f})"
    return None


def collapse_warning(how: str, epoch: int) -> SelectorCollapse:
    """The warning of a collapse, with its remedy."""
    if "near 0" in how:
        remedy = "Lower objective.beta, or raise model.prior_rate where the prior is fixed."
    elif "near 1" in how:
        remedy = "Raise objective.beta, or let the prior pay: model.prior_support = pairs."
    else:
        remedy = "Lower objective.beta, try another seed, or a fixed prior: model.prior = fixed."
    return SelectorCollapse(f"the selector collapsed in epoch {epoch}: {how}. {remedy}")


def selector_prob(scores: Scores) -> Tensor | None:
    """The learned p of the training links; a given or constant p comes from no selector."""
    prob = scores.trace.get("prob")
    return prob if prob is not None and prob.requires_grad and prob.numel() else None


def mean_of(prob: Tensor | None) -> float | None:
    """Mean p, for progress bars and metrics."""
    return None if prob is None else float(prob.detach().mean(dtype=torch.float64))


def _diverged(what: str, epoch: int, config: TrainConfig) -> TrainingDiverged:
    kept = f"The state after epoch {epoch - 1} is kept." if epoch else "Nothing was trained yet."
    return TrainingDiverged(
        what, f"Lower train.lr (now {config.lr:g}) or train.clip (now {config.clip:g}). {kept}"
    )
