"""The link selector: which links of a closing step carry the invariant signal (Eq. 7 to 10).

    h_a = Rep(hist_a + now_a, s_a)        p_ab = sigmoid(MLP[h_a || h_b] / tau)

`hist` weighs earlier links by their own p, `now` takes the current links at weight 1; so p depends
on the ends, the past and the step, and on no query: one pass serves all.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from oodlinker.nn.layers import HeadKind, PairHead, Representation
from oodlinker.nn.link_plan import StepPlan
from oodlinker.nn.link_sums import LinkSums

Selection = Literal["learned", "all", "given"]
Gate = Literal["soft", "concrete"]


@dataclass(frozen=True, eq=False)
class ClosingStep:
    """The inputs of one step that closes.

    Args:
        index: number of the step, as a tensor of one number.
        plan: places of its links.
        content: features of its active nodes.
        edge_feat: features of its links.
        given: weights of its links where they are not learned.
        noise: logistic noise of each link's gate; None for none.
        gathered: `LinkSums.gathered` of the links at weight 1; it never changes.
    """

    index: Int64[Tensor, " one"]
    plan: StepPlan
    content: Float[Tensor, "row node_dim"]
    edge_feat: Float[Tensor, "link edge_dim"] | None
    given: Float[Tensor, " link"] | None
    noise: Float[Tensor, " link"] | None
    gathered: Float[Tensor, "sum columns"]


class Selector(nn.Module):
    """Network phi 2.

    Args:
        sums: the running sums, shared with the other networks.
        node_dim: width of node features.
        hidden: width of hidden layers.
        head: how a pair of ends is read.
        bias: start value of the last bias; 1 starts with most links selected.
        temperature: tau.
        detach_history: cut the gradient from a selection to the earlier ones that it read.
    """

    def __init__(
        self,
        sums: LinkSums,
        node_dim: int,
        hidden: int,
        head: HeadKind,
        bias: float,
        temperature: float,
        *,
        detach_history: bool = False,
    ) -> None:
        super().__init__()
        self.temperature = temperature
        self.detach_history = detach_history
        self.represent = Representation(sums.shown, node_dim, hidden)
        self.head = PairHead(
            node_dim, hidden, 3, kind=head, directed=sums.slots == 2, bias=bias * temperature
        )

    def forward(
        self,
        shown: Float[Tensor, "row shown"],
        own: Float[Tensor, "row node_dim"],
        plan: StepPlan,
    ) -> Float[Tensor, " link"]:
        """Eq. 7 to 10. Logits of p for the links of a step: MLP[h_a || h_b] / tau."""
        nodes = self.represent(shown, own)
        logits: Tensor = self.head(nodes, plan.src, plan.dst)
        return logits / self.temperature


def gate_weight(
    logits: Float[Tensor, " link"], noise: Float[Tensor, " link"] | None, temperature: float
) -> Float[Tensor, " link"]:
    """Weight of a link: sigmoid(l), or in training z = sigmoid((l + noise) / tau_c).

    Args:
        logits: logit of p.
        noise: log u - log(1 - u) for u uniform; None for the deterministic gate.
        temperature: tau_c.

    Reference: Maddison et al., "The Concrete Distribution", ICLR 2017.
    """
    if noise is None:
        return torch.sigmoid(logits)
    return torch.sigmoid((logits + noise) / temperature)


def logistic_noise(count: int, like: Tensor, stream: torch.Generator) -> Float[Tensor, " link"]:
    """Logistic noise log u - log(1 - u), one draw a link."""
    uniform = torch.rand(count, generator=stream, dtype=torch.float64)
    noise = torch.logit(uniform, eps=1e-12)
    return noise.to(dtype=like.dtype, device=like.device)


def close_step(
    sums: LinkSums,
    selector: Selector | None,
    step: ClosingStep,
    before: Float[Tensor, "row stored"],
    gate_temperature: float,
) -> tuple[Float[Tensor, " link"], Float[Tensor, "row stored"]]:
    """Select the links of a step, then add them to the sums of its nodes with weight p.

    Args:
        sums: the running sums.
        selector: None where the weights are given.
        step: what closes.
        before: stored sums of its active nodes, as seen from this step.
        gate_temperature: tau_c.

    Returns:
        Logits of p (zeros where weights are given), and the stored sums after the step.
    """
    if selector is None or step.given is not None:
        weight = step.given if step.given is not None else before.new_ones(step.plan.src.shape)
        logits = torch.zeros_like(weight)
        gathered = sums.gathered(step.plan, step.content, step.edge_feat, weight)
        return logits, before + sums.stamped(gathered, step.index)
    past = before.detach() if selector.detach_history else before
    shown = sums.view(past + sums.stamped(step.gathered, step.index), step.index)
    logits = selector(shown, step.content, step.plan)
    weight = gate_weight(logits, step.noise, gate_temperature)
    gathered = sums.gathered(step.plan, step.content, step.edge_feat, weight)
    return logits, before + sums.stamped(gathered, step.index)
