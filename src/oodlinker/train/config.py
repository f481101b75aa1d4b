"""How a method is trained."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from oodlinker.errors import BadConfig

_LARGEST_LR = 1e6


@dataclass(frozen=True)
class TrainConfig:
    """Settings of the training loop.

    Args:
        epochs: passes over the training world, one optimiser step each.
        lr: highest learning rate.
        weight_decay: decay of the weights.
        optimizer: AdamW (decay apart from the gradient) or Adam (decay added to it).
        warmup: epochs over which the learning rate rises linearly.
        final_lr: share of `lr` that the cosine schedule ends at.
        schedule: what follows the warm-up.
        clip: largest norm of the gradient.
        eval_every: epochs between two validations; the last epoch is always validated.
        patience: epochs without better validation after which training stops; 0 never stops it.
        dtype: numbers that weights and features are held in.
    """

    epochs: int = 64
    lr: float = 7e-3
    weight_decay: float = 1e-5
    optimizer: Literal["adamw", "adam"] = "adamw"
    warmup: int = 5
    final_lr: float = 0.05
    schedule: Literal["cosine", "constant"] = "cosine"
    clip: float = 5.0
    eval_every: int = 4
    patience: int = 0
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        if min(self.epochs, self.eval_every) < 1 or min(self.warmup, self.patience) < 0:
            raise BadConfig(
                "epochs and eval_every must be at least 1, warmup and patience at least 0"
            )
        if not (0 < self.lr <= _LARGEST_LR and self.clip > 0):
            raise BadConfig(f"lr {self.lr} must lie between 0 and {_LARGEST_LR}, clip above 0")
        if not (0 <= self.weight_decay < math.inf and 0 <= self.final_lr <= 1):
            raise BadConfig("weight_decay must be at least 0, final_lr between 0 and 1")

    @property
    def torch_dtype(self) -> torch.dtype:
        """`dtype` as torch names it."""
        return torch.float64 if self.dtype == "float64" else torch.float32

    def lr_share(self, epoch: int) -> float:
        """Share of the learning rate in an epoch: a linear rise, then half a cosine.

        share = (epoch + 1) / warmup                        while epoch < warmup
        share = final + (1 - final) (1 + cos(pi done)) / 2   then, done from 0 to 1
        """
        if epoch < self.warmup:
            return (epoch + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        done = (epoch - self.warmup) / max(self.epochs - 1 - self.warmup, 1)
        cosine = (1 + math.cos(math.pi * min(done, 1.0))) / 2
        return self.final_lr + (1 - self.final_lr) * cosine
