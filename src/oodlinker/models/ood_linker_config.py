"""Configuration of OOD-Linker: every reading of the paper that can be chosen."""

from dataclasses import dataclass
from typing import Literal

from oodlinker.errors import BadConfig
from oodlinker.models.history import EdgeCode
from oodlinker.models.selector import Gate, Selection
from oodlinker.objectives.bottleneck import KLReduction


@dataclass(frozen=True)
class OODLinkerConfig:
    """Every reading of the paper that can be chosen.

    Args:
        hidden: width of hidden layers.
        head: how the predictor reads a pair: `concat` is Eq. 14 to the letter, `symmetric` adds
            the product, `cosine` sees only the cosine of [own feature + sum p neighbour feature].
            Selector and prior use `concat` with `concat`, else `symmetric`.
        selection: `learned`; `all` weighs every link 1; `given` takes the true flags.
        gate: `soft` (p itself) or `concrete` (a random gate around p while training).
        gate_temperature: tau_c of the concrete gate.
        temperature: tau of Eq. 10 and 12.
        select_bias: start value of the selector's last bias.
        prior: `learned` (Eq. 11-12), `fixed` (q = prior_rate) or `none` (no penalty).
        prior_support: `links` compares p and q where links are; `pairs` also makes the prior pay
            for the pairs that did not link.
        prior_rate: q of the fixed prior.
        prior_bias: start value of the last bias of a prior that pays for pairs.
        non_links: pairs without a link that are drawn for each link.
        kl_reduction: unit of the penalty.
        last_step: weigh the newest links by p (`selected`) or by 1 (`one`, Eq. 13 to the letter).
        detach_history: cut the gradient from a selection to the earlier ones that it read.
        log_scale: log-scale the sums.
        time_dim: width of the time code; 0 switches it off.
        edge_code: link features in the sums: `off`, `constant`, or the `links`' own.
        count: show the number of past links.
        decayed_count: show their decayed number.
        decay: its factor a step.
        cosine_scale: what the cosine is multiplied by.
    """

    hidden: int = 64
    head: Literal["concat", "symmetric", "cosine"] = "cosine"
    selection: Selection = "learned"
    gate: Gate = "concrete"
    gate_temperature: float = 1.0
    temperature: float = 1.0
    select_bias: float = 1.0
    prior: Literal["learned", "fixed", "none"] = "learned"
    prior_support: Literal["links", "pairs"] = "pairs"
    prior_rate: float = 0.27
    prior_bias: float = -6.0
    non_links: int = 4
    kl_reduction: KLReduction = "link_mean"
    last_step: Literal["selected", "one"] = "selected"
    detach_history: bool = False
    log_scale: bool = True
    time_dim: int = 0
    edge_code: EdgeCode = "off"
    count: bool = True
    decayed_count: bool = True
    decay: float = 0.6
    cosine_scale: float = 4.0

    def __post_init__(self) -> None:
        if not 0 < self.prior_rate < 1:
            raise BadConfig(f"prior_rate {self.prior_rate} is no probability", "Choose 0 < r < 1.")
        if min(self.temperature, self.gate_temperature) <= 0:
            raise BadConfig("temperatures must be above 0")
        if self.hidden < 1 or self.time_dim < 0 or self.non_links < 1:
            raise BadConfig("hidden and non_links must be at least 1, time_dim at least 0")
        if self.prior == "fixed" and self.prior_support == "pairs":
            raise BadConfig(
                "a fixed prior pays a constant for pairs: prior_support = pairs changes nothing",
                "Use prior_support = links with prior = fixed.",
            )
