"""All links so far, and what the trivial methods count in them: events before a step.

The log keeps the step of every link, and every count asks for a step, so one log of a whole world
answers the queries of all its steps, each from its own past.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from oodlinker.graph.worlds import Step, World
from oodlinker.models.contract import State

NEVER = -1


@dataclass(frozen=True, eq=False)
class LinkLog:
    """Links with their steps, in the order of steps.

    Args:
        src: source of each link.
        dst: target of each link.
        step: step of each link.
    """

    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]
    step: Int64[Tensor, " link"]

    @classmethod
    def empty(cls) -> "LinkLog":
        """No links yet."""
        nothing = torch.empty(0, dtype=torch.int64)
        return cls(nothing, nothing, nothing)

    @classmethod
    def of_world(cls, world: World) -> "LinkLog":
        """All links of a world."""
        return cls(world.src, world.dst, world.step_of_link)

    @classmethod
    def of_state(cls, state: State) -> "LinkLog":
        """The links that a state remembers."""
        return cls(state.links["src"], state.links["dst"], state.links["step"])

    def tables(self) -> dict[str, Int64[Tensor, " link"]]:
        """The links as `State.links` keeps them."""
        return {"src": self.src, "dst": self.dst, "step": self.step}

    def followed_by(self, step: Step) -> "LinkLog":
        """The log with the links of one more step."""
        index = torch.full_like(step.src, step.index)
        return LinkLog(
            torch.cat([self.src, step.src]),
            torch.cat([self.dst, step.dst]),
            torch.cat([self.step, index]),
        )


def pair_key(
    src: Int64[Tensor, " pair"], dst: Int64[Tensor, " pair"], *, directed: bool
) -> Int64[Tensor, " pair"]:
    """One number for a pair; without direction both orders give the same."""
    if not directed:
        src, dst = torch.minimum(src, dst), torch.maximum(src, dst)
    return (src << 32) | dst


class Events:
    """When things with a key happened: how often, and when last, before a step.

    Args:
        key: key of each event.
        step: its step, from 0.
    """

    def __init__(self, key: Int64[Tensor, " event"], step: Int64[Tensor, " event"]) -> None:
        self.keys, slot = torch.unique(key, return_inverse=True)
        self.span = int(step.max()) + 1 if step.numel() else 1
        self.moments = (slot * self.span + step).sort().values

    def count_before(
        self, key: Int64[Tensor, " query"], step: Int64[Tensor, " query"]
    ) -> Int64[Tensor, " query"]:
        """How many events each key has before each step."""
        _, low, high = self._range(key, step)
        return high - low

    def last_before(
        self, key: Int64[Tensor, " query"], step: Int64[Tensor, " query"]
    ) -> Int64[Tensor, " query"]:
        """The step of the last event of each key before each step, or `NEVER`."""
        slot, low, high = self._range(key, step)
        found = torch.full_like(key, NEVER)
        some = high > low
        found[some] = self.moments[high[some] - 1] - slot[some] * self.span
        return found

    def _range(self, key: Tensor, step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where the events before a step stand among the moments: slot, from, up to."""
        if not self.keys.numel():
            nothing = torch.zeros_like(key)
            return nothing, nothing, nothing
        slot = torch.searchsorted(self.keys, key).clamp(max=self.keys.numel() - 1)
        known: Bool[Tensor, " query"] = self.keys[slot] == key
        begin = slot * self.span
        low = torch.searchsorted(self.moments, begin)
        high = torch.searchsorted(self.moments, begin + step.clamp(0, self.span))
        return slot, low, torch.where(known, high, low)
