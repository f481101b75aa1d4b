"""Time encoding whose sums over past links can be kept as running sums."""

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn


class TimeEncoding(nn.Module):
    """f(gap) = cos(omega gap + b), with learnable omega and b.

    A sum over past links of weight p at steps t' needs no list of them, for

        sum p cos(omega (t - t') + b) = cos(omega t + b) C + sin(omega t + b) D,
        C = sum p cos(omega t'),  D = sum p sin(omega t').

    Args:
        dim: number of units.
        steps: number of steps T; omega starts geometric on [pi / T, pi], so that every unit
            moves within the window and none aliases.

    Reference: Xu et al., "Inductive Representation Learning on Temporal Graphs", ICLR 2020.
    """

    def __init__(self, dim: int, steps: int) -> None:
        super().__init__()
        slowest = math.log(math.pi / max(steps, 1))
        ladder = torch.linspace(slowest, math.log(math.pi), dim).exp()
        self.omega = nn.Parameter(ladder)
        self.phase = nn.Parameter(torch.zeros(dim))

    @property
    def dim(self) -> int:
        """Number of units."""
        return self.omega.numel()

    def forward(self, gap: Float[Tensor, " row"]) -> Float[Tensor, "row time_dim"]:
        """The code of some gaps, in steps."""
        return torch.cos(gap.unsqueeze(1) * self.omega + self.phase)

    def waves(
        self, step: Int64[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row time_dim"], Float[Tensor, "row time_dim"]]:
        """cos(omega t') and sin(omega t'): what a link of step t' adds to C and D."""
        angle = self._angle(step)
        return angle.cos().to(self.omega.dtype), angle.sin().to(self.omega.dtype)

    def read(
        self,
        cosines: Float[Tensor, "*row time_dim"],
        sines: Float[Tensor, "*row time_dim"],
        step: Int64[Tensor, " at"],
    ) -> Float[Tensor, "*row time_dim"]:
        """The summed code as seen from `step` (one step a row, or one for all rows)."""
        angle = self._angle(step) + self.phase.double()
        cos, sin = angle.cos().to(cosines.dtype), angle.sin().to(cosines.dtype)
        while cos.dim() < cosines.dim():  # slots lie between rows and units
            cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return cos * cosines + sin * sines

    def _angle(self, step: Tensor) -> Tensor:
        # Steps can be many: the angle is taken in double precision, its cosine may be single.
        return step.double().unsqueeze(1) * self.omega.double()
