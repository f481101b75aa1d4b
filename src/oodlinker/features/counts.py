"""Node features of graphs that have none: what a node's past links count.

    x[t] = z(log(1 + c[t])) W        z(a) = (a - mean) / std

c[t] is (in-degree, out-degree, distinct partners, active steps, age) of a node up to step t, W a
fixed Gaussian map to 32 numbers. Degrees count repeated links; undirected links count as both in
and out; age is the number of steps since a node's first link. A node that was never seen has
c = 0, which is not the average node.

Mean and std are over the nodes seen by t, for every training step t of the training world. They
and the seed of W are all that is fitted. Under `published`, c is taken from all of time, of all
domains, and holds for every step (it leaks, by design).

A change is stored only where a node has links, so the table never has more rows than nodes plus
link ends. Age grows without any link: it enters x as a multiple of one direction, which
`NodeFeatures` adds when it is read.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.graph.node_features import BEFORE_ALL, NodeFeatures
from oodlinker.graph.worlds import World
from oodlinker.rng import generator

COUNTS = ("in-degree", "out-degree", "distinct partners", "active steps", "age")
DIM = 32
NEVER = 2**31 - 1  # the birth of a node that was not seen: it has no age


@dataclass(frozen=True, eq=False)
class Activity:
    """Counts of every node after each step in which it has links, sorted by node and step.

    Args:
        num_nodes: how many nodes there are, linked or not.
        num_steps: how many steps there are.
        node: node of each row.
        step: a step in which it has links.
        count: in-degree, out-degree, distinct partners and active steps up to then.
        born: first step of the node.
    """

    num_nodes: int
    num_steps: int
    node: Int64[Tensor, " change"]
    step: Int64[Tensor, " change"]
    count: Float[Tensor, "change 4"]
    born: Int64[Tensor, " change"]

    @classmethod
    def of(cls, *worlds: World) -> "Activity":
        """Count the links of one world, or of several that share nodes and steps."""
        src = torch.cat([world.src for world in worlds])
        dst = torch.cat([world.dst for world in worlds])
        step = torch.cat([world.step_of_link for world in worlds])
        nodes = max(world.num_nodes for world in worlds)
        steps = max(world.num_steps for world in worlds)
        apart = src != dst
        givers, givers_step = src, step
        takers, takers_step = dst, step
        if worlds[0].kind == "undirected":
            # Both ends give and take; a self-loop has one end.
            givers, givers_step = torch.cat([src, dst[apart]]), torch.cat([step, step[apart]])
            takers, takers_step = givers, givers_step
        met = _first_meetings(src[apart], dst[apart], step[apart], nodes, steps)
        gave, took = givers * steps + givers_step, takers * steps + takers_step
        changes = torch.unique(torch.cat([gave, took]))
        rises = [_per_row(changes, one) for one in (took, gave, met, changes)]
        node = changes // max(steps, 1)
        start = torch.searchsorted(node, node)
        total = torch.stack(rises, dim=1).cumsum(0)
        before = total - torch.stack(rises, dim=1)
        moment = changes % max(steps, 1)
        return cls(
            num_nodes=nodes,
            num_steps=steps,
            node=node,
            step=moment,
            count=(total - before.index_select(0, start)).double(),
            born=moment.index_select(0, start),
        )

    def held(self, stop: int) -> Int64[Tensor, " change"]:
        """For how many of the steps before `stop` each row holds."""
        following = torch.full_like(self.step, stop)
        same = self.node[1:] == self.node[:-1]
        following[:-1] = torch.where(same, self.step[1:], stop)
        return (following.clamp(max=stop) - self.step).clamp(min=0)


@dataclass(frozen=True)
class CountFeatures:
    """The fitted part of the features: five means, five deviations and the seed of the map.

    Args:
        mean: of log(1 + count), in the order of `COUNTS`.
        std: its standard deviation.
        static: whether counts of all of time hold at every step (`published`).
        seed: seed of the Gaussian map.
        dim: width of the features.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    static: bool = False
    seed: int = 0
    dim: int = DIM

    @classmethod
    def fit(cls, world: World, train_steps: int, *, seed: int = 0) -> "CountFeatures":
        """Fit on the first steps of the training world: one sample a seen node and step."""
        activity = Activity.of(world)
        held = activity.held(train_steps).double()
        first = activity.step == activity.born
        lives = (train_steps - activity.born[first]).clamp(min=0)
        # The ages 0, 1, ..., life - 1 of every node, by prefix sums over ages.
        ages = torch.arange(train_steps).double().log1p()
        sums = [
            torch.cat([torch.zeros(1).double(), power.cumsum(0)])[lives].sum()
            for power in (ages, ages**2)
        ]
        logs = activity.count.log1p()
        samples = held.sum().clamp(min=1)
        mean = torch.cat([held @ logs, sums[0].reshape(1)]) / samples
        square = torch.cat([held @ logs**2, sums[1].reshape(1)]) / samples
        return cls._of(mean, square, static=False, seed=seed)

    @classmethod
    def fit_all_time(cls, *worlds: World, seed: int = 0) -> "CountFeatures":
        """Fit on the last counts of every node, of all domains and times (`published`)."""
        logs = _last(Activity.of(*worlds))[1].log1p()
        samples = max(logs.shape[0], 1)
        return cls._of(logs.sum(0) / samples, (logs**2).sum(0) / samples, static=True, seed=seed)

    def features(self, *worlds: World) -> NodeFeatures:
        """Features of every node of a world, also of one that was not fitted on.

        Args:
            worlds: the world whose links count; several are counted together.
        """
        activity = Activity.of(*worlds)
        if self.static:
            node, count = _last(activity)
            table = self._mapped(torch.zeros(activity.num_nodes, len(COUNTS)).double())
            return NodeFeatures.static(table.index_copy(0, node, self._mapped(count)))
        ageless = torch.zeros_like(activity.count[:, :1])
        seen = self._mapped(torch.cat([activity.count, ageless], dim=1))
        unseen = self._mapped(torch.zeros(activity.num_nodes, len(COUNTS)).double())
        nodes = torch.arange(activity.num_nodes)
        node = torch.cat([nodes, activity.node])
        step = torch.cat([torch.full_like(nodes, BEFORE_ALL), activity.step])
        born = torch.cat([torch.full_like(nodes, NEVER), activity.born])
        order = torch.argsort(node * (activity.num_steps + 1) + step)
        return NodeFeatures(
            node[order],
            step[order],
            torch.cat([unseen, seen])[order],
            born[order],
            (self._map[-1] / self.std[-1]).float(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON keeps them."""
        return {
            "mean": list(self.mean),
            "std": list(self.std),
            "static": self.static,
            "seed": self.seed,
            "dim": self.dim,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "CountFeatures":
        """What `to_dict` wrote."""
        return cls(**{**plain, "mean": tuple(plain["mean"]), "std": tuple(plain["std"])})

    @classmethod
    def _of(cls, mean: Tensor, square: Tensor, *, static: bool, seed: int) -> "CountFeatures":
        spread = (square - mean**2).clamp(min=0).sqrt()
        # A count that never differs says nothing: leave it unscaled instead of dividing by 0.
        spread = torch.where(spread < 1e-6, 1.0, spread)
        return cls(tuple(mean.tolist()), tuple(spread.tolist()), static, seed)

    @property
    def _map(self) -> Tensor:
        stream = generator(self.seed, "count features")
        gaussian = torch.randn(len(COUNTS), self.dim, generator=stream, dtype=torch.float64)
        return gaussian.div(len(COUNTS) ** 0.5)

    def _mapped(self, count: Float[Tensor, "row 5"]) -> Float[Tensor, "row node_dim"]:
        mean, std = torch.tensor([self.mean, self.std], dtype=torch.float64)
        scaled: Tensor = (count.log1p() - mean) / std
        return scaled.matmul(self._map).float()


def _last(activity: Activity) -> tuple[Tensor, Tensor]:
    """Each seen node and its five counts after the last step."""
    final = torch.ones_like(activity.node, dtype=torch.bool)
    final[:-1] = activity.node[1:] != activity.node[:-1]
    age = (activity.num_steps - 1 - activity.born[final]).double().unsqueeze(1)
    return activity.node[final], torch.cat([activity.count[final], age], dim=1)


def _first_meetings(src: Tensor, dst: Tensor, step: Tensor, nodes: int, steps: int) -> Tensor:
    """Codes node * steps + step of the first link of each node with each of its partners."""
    one, other = torch.cat([src, dst]), torch.cat([dst, src])
    pair, row = torch.unique(one * nodes + other, return_inverse=True)
    first = torch.full_like(pair, steps).scatter_reduce(0, row, step.repeat(2), "amin")
    return first.add(pair // max(nodes, 1) * steps)


def _per_row(changes: Tensor, codes: Tensor) -> Tensor:
    """How many codes fall on each change."""
    return torch.bincount(torch.searchsorted(changes, codes), minlength=changes.numel())
