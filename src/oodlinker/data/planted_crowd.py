"""The people of a planted world, and draws by weight that leave out a stretch."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.data.planted_config import PlantedConfig

Stretch = tuple[Int64[Tensor, " draw"], Int64[Tensor, " draw"]]  # from the first up to the second


@dataclass(frozen=True, eq=False)
class Crowd:
    """People in the order of their communities.

    Args:
        community: community of each person, ascending.
        bounds: people of community c are those from bounds[c] up to bounds[c + 1].
        weight: activity of all people before a place; one entry more than people.
        friends: friends of each person.
        center: vector of each community.
    """

    community: Int64[Tensor, " person"]
    bounds: Int64[Tensor, " bound"]
    weight: Float[Tensor, " edge"]
    friends: Int64[Tensor, "person friend"]
    center: Float[Tensor, "community node_dim"]

    @classmethod
    def drawn(cls, config: PlantedConfig, stream: torch.Generator) -> "Crowd":
        """Communities uniform, activity log-normal, friends by activity in the own community."""
        # Two people are put into each community, so that everybody has somebody to link to.
        placed = torch.arange(2 * config.communities) % config.communities
        free = (config.people - placed.numel(),)
        uniform = torch.randint(config.communities, free, generator=stream)
        community = torch.cat([placed, uniform]).sort().values
        spread = torch.randn(config.people, generator=stream, dtype=torch.float64)
        everyone = torch.arange(config.people)
        crowd = cls(
            community=community,
            bounds=torch.searchsorted(community, torch.arange(config.communities + 1)),
            weight=cumulative((config.activity_spread * spread).exp()),
            friends=everyone.unsqueeze(1),
            center=torch.randn(config.communities, config.node_dim, generator=stream),
        )
        friends = [crowd.neighbours(everyone, stream) for _ in range(config.friends)]
        return replace(crowd, friends=torch.stack(friends, dim=1))

    def community_pairs(
        self, count: int, friend_share: float, stream: torch.Generator
    ) -> Int64[Tensor, "2 draw"]:
        """A person by activity, with a friend or with somebody of the community by activity."""
        first = draw(self.weight, count, stream)
        place = torch.randint(self.friends.shape[1], (count,), generator=stream)
        as_friends = torch.rand(count, generator=stream) < friend_share
        second = torch.where(as_friends, self.friends[first, place], self.neighbours(first, stream))
        return torch.stack([first, second])

    def decoys(self, count: int, stream: torch.Generator) -> Int64[Tensor, "2 draw"]:
        """Two people by activity, of different communities."""
        first = draw(self.weight, count, stream)
        low = torch.zeros_like(first)
        everyone = (low, low + self.community.numel())
        return torch.stack([first, draw_except(self.weight, everyone, self._own(first), stream)])

    def neighbours(
        self, person: Int64[Tensor, " draw"], stream: torch.Generator
    ) -> Int64[Tensor, " draw"]:
        """For each person another one of the same community, by activity."""
        return draw_except(self.weight, self._own(person), (person, person + 1), stream)

    def _own(self, person: Tensor) -> Stretch:
        community = self.community[person]
        return self.bounds[community], self.bounds[community + 1]


def cumulative(weight: Float[Tensor, " place"]) -> Float[Tensor, " edge"]:
    """Sum of the weights before each place, and of all."""
    return torch.cat([weight.new_zeros(1), weight.cumsum(0)])


def draw(
    weight: Float[Tensor, " edge"], count: int, stream: torch.Generator
) -> Int64[Tensor, " draw"]:
    """Places by cumulative weight."""
    low = torch.zeros(count, dtype=torch.int64)
    return draw_except(weight, (low, low + weight.numel() - 1), (low, low), stream)


def draw_except(
    weight: Float[Tensor, " edge"], within: Stretch, skipped: Stretch, stream: torch.Generator
) -> Int64[Tensor, " draw"]:
    """A place for each stretch, by cumulative weight, outside a part that is skipped.

    Args:
        weight: cumulative weights, as `cumulative` gives them.
        within: the stretches to draw from.
        skipped: a part of each stretch, never the whole.
        stream: random stream.
    """
    low, high = (weight[bound] for bound in within)
    hole, end = (weight[bound] for bound in skipped)
    share = torch.rand(low.numel(), generator=stream, dtype=weight.dtype)
    point = low + share * (high - low - (end - hole))
    point = torch.where(point >= hole, point + (end - hole), point)
    place = torch.searchsorted(weight, point, right=True) - 1
    # Rounding can put a point on the bound of its stretch or of the hole.
    place = place.maximum(within[0]).minimum(within[1] - 1)
    beside = torch.where(skipped[1] < within[1], skipped[1], skipped[0] - 1)
    return torch.where((place >= skipped[0]) & (place < skipped[1]), beside, place)
