"""The loss on shifted links while a method trains, scored from outside the loop.

Training never sees a shifted world. Who wants its curve scores the weights of each epoch from
outside: the shifted world's validation steps with its own history and stored pairs. Which epoch is
kept is decided in distribution all the same.
"""

from dataclasses import dataclass, field

import torch

from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World, Worlds
from oodlinker.models.contract import LinkModel, task_term
from oodlinker.train.evaluate import score_pairs
from oodlinker.train.fit import Epoch


@dataclass
class LossCurve:
    """Losses of one method while it trains.

    Args:
        name: what it is called in figures.
        train: epoch and training cross-entropy, as the epoch reports it: before its step of the
            optimiser, with the noise of training.
        shifted: epoch and cross-entropy on the shifted validation pairs, after the step.
        step: where the shifted world has no pair in the validation steps: the test step that is
            measured in their place.
    """

    name: str
    train: list[tuple[int, float]] = field(default_factory=list)
    shifted: list[tuple[int, float]] = field(default_factory=list)
    step: int | None = None


class ShiftedWatch:
    """Scores a method on the shifted validation pairs while it trains.

    Args:
        worlds: a domain must be held out.
        every: epochs between two looks at the shifted world; the first is always looked at.
    """

    def __init__(self, worlds: Worlds, *, every: int = 1) -> None:
        self.world, self.pairs, self.step = watched_pairs(worlds)
        self.every = every

    def curve(self, name: str) -> LossCurve:
        """A curve without points, to be filled by `look`."""
        return LossCurve(name, step=self.step)

    def look(self, curve: LossCurve, epoch: Epoch, model: LinkModel, *, last: bool = False) -> None:
        """Add an epoch to a curve; `last` looks at the shifted world in any case."""
        curve.train.append((epoch.index, epoch.terms["task"]))
        if last or epoch.index % self.every == 0:
            curve.shifted.append((epoch.index, self.loss(model)))

    def loss(self, model: LinkModel) -> float:
        """Mean cross-entropy of the shifted pairs under the present weights, in eval mode."""
        logits = score_pairs(model, self.world, self.pairs)
        with torch.no_grad():
            return float(task_term(logits.double(), self.pairs.label).mean)


def watched_pairs(worlds: Worlds) -> tuple[World, Pairs, int | None]:
    """The shifted world, its stored validation pairs, and the test step that stands in for them.

    Raises:
        ValueError: no domain is held out, or the shifted world has no pairs.
    """
    if worlds.shifted is None:
        raise ValueError("no domain is held out: there is no shifted world")
    pairs = worlds.shifted.pairs.of_steps(worlds.split.valid_steps)
    if len(pairs):
        return worlds.shifted, pairs, None
    pairs = worlds.shifted_pairs
    if not len(pairs):
        raise ValueError("the shifted world has no pairs")
    step = int(pairs.step.min())
    return worlds.shifted, pairs.of_steps(range(step, step + 1)), step
