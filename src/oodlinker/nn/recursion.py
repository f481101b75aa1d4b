"""A recursion over steps as one node of the autograd graph.

The sums of a row depend on those of an earlier row of the same node, through networks. Written
naively, autograd would keep one table of all nodes a step. Here each step keeps its own small
graph between the rows it reads and the rows it writes, and the backward pass walks the steps in
reverse, adding gradients into one table of rows. The result is exact.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from oodlinker.nn.link_plan import LinkPlan

CloseStep = Callable[[int, Tensor], tuple[Tensor, Tensor]]


def run_steps(
    plan: LinkPlan,
    num_steps: int,
    close: CloseStep,
    like: Float[Tensor, "none stored"],
    parameters: Sequence[nn.Parameter],
) -> tuple[Float[Tensor, " link"], Float[Tensor, "row stored"]]:
    """Close steps in the order of time.

    Args:
        plan: rows and links of all steps.
        num_steps: how many steps to close.
        close: (step, sums of its nodes before it) -> (logits of its links, sums after it).
        like: an empty table of the sums' width, type and device.
        parameters: what `close` depends on.

    Returns:
        Logits of the links of those steps, and the sums after every row (row 0: the empty history).
    """
    if torch.is_grad_enabled() and any(one.requires_grad for one in parameters):
        made: tuple[Tensor, Tensor] = _Recursion.apply(  # type: ignore[no-untyped-call]
            plan, num_steps, close, like, *parameters
        )
        return made
    logits, sums = _tables(plan, num_steps, like)
    for step in range(num_steps):
        before = sums.index_select(0, plan.previous[plan.rows_of(step)])
        logits[plan.links_of(step)], sums[plan.rows_of(step)] = close(step, before)
    return logits, sums


def _tables(plan: LinkPlan, num_steps: int, like: Tensor) -> tuple[Tensor, Tensor]:
    logits = like.new_zeros(plan.link_ptr[num_steps])
    return logits, like.new_zeros(plan.row_ptr[num_steps], like.shape[1])


class _Recursion(torch.autograd.Function):
    """Forward: one small graph a step. Backward: the steps in reverse."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: LinkPlan,
        num_steps: int,
        close: CloseStep,
        like: Tensor,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor]:
        ctx.plan, ctx.parameters = plan, parameters
        ctx.graphs = []
        logits, sums = _tables(plan, num_steps, like)
        for step in range(num_steps):
            before = sums.index_select(0, plan.previous[plan.rows_of(step)]).requires_grad_()
            with torch.enable_grad():
                step_logits, after = close(step, before)
            logits[plan.links_of(step)] = step_logits.detach()
            sums[plan.rows_of(step)] = after.detach()
            ctx.graphs.append((before, step_logits, after))
        return logits, sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_logits, of_sums = gradients
        of_sums = of_sums.clone()
        wanted = [one for one in ctx.parameters if one.requires_grad]
        totals: list[Tensor | None] = [None] * len(wanted)
        for step in reversed(range(len(ctx.graphs))):
            before, step_logits, after = ctx.graphs.pop()
            rows = ctx.plan.rows_of(step)
            both = [(step_logits, of_logits[ctx.plan.links_of(step)]), (after, of_sums[rows])]
            both = [(value, gradient) for value, gradient in both if value.requires_grad]
            if not both:
                continue
            of_before, *of_parameters = torch.autograd.grad(
                [value for value, _ in both],
                [before, *wanted],
                [gradient for _, gradient in both],
                allow_unused=True,
            )
            if of_before is not None:
                # Where `after` is `before` plus a constant, of_before is a part of of_sums itself.
                of_sums.index_add_(0, ctx.plan.previous[rows], of_before.clone())
            totals = [
                new if old is None else old if new is None else old + new
                for old, new in zip(totals, of_parameters, strict=True)
            ]
        filled = iter(totals)
        return (
            *[None] * 4,
            *(next(filled) if one.requires_grad else None for one in ctx.parameters),
        )
