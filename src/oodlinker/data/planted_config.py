"""Size, noise and shift of a planted world."""

import math
from dataclasses import dataclass, fields, replace
from string import ascii_lowercase

from oodlinker.errors import BadConfig

MIN_STEPS = 8  # four without pairs, one that trains, two that validate, one that tests
QUERIES_PER_POSITIVE = 2  # itself and its decoy
HUB_LINKS = 2  # of each query, at the step before


@dataclass(frozen=True)
class PlantedConfig:
    """Size, noise and shift of a planted world; the defaults are those of the study behind it.

    Args:
        people: people of each world.
        communities: communities of each world.
        hubs: hubs of each training domain; the held-out world has as many as all of them.
        shares: for each training domain, how often the two ends of a positive share a hub
            before they link; decoys do in the complement.
        held_out_share: the same in the held-out domain: the further from `shares`, the harder.
        steps: how many steps.
        positives: positives of a step; as many decoys.
        more_links: links within communities in a step beside its positives.
        friends: friends of a person, drawn by activity, so that one may be drawn twice.
        friend_share: how often a community pair is a pair of friends.
        activity_spread: standard deviation of log activity.
        hub_decay: hubs are drawn with weight rank to the minus this.
        noise: noise of the features, against a community vector of standard deviation 1.
        node_dim: width of the features.
    """

    people: int = 1920
    communities: int = 25
    hubs: int = 20
    shares: tuple[float, ...] = (0.95, 0.8, 0.65, 0.5)
    held_out_share: float = 0.1
    steps: int = 16
    positives: int = 400
    more_links: int = 133
    friends: int = 6
    friend_share: float = 0.35
    activity_spread: float = 0.7
    hub_decay: float = 0.6
    noise: float = 2.3
    node_dim: int = 16

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= least):
                raise BadConfig(f"{name} = {value} is not a number of at least {least}")
        for share in (*self.shares, self.held_out_share, self.friend_share):
            if not 0 <= share <= 1:
                raise BadConfig(f"share {share} is not between 0 and 1")
        if not 1 <= len(self.shares) < len(ascii_lowercase):
            raise BadConfig(f"{len(self.shares)} training domains are not 1 to 25", "Set shares.")
        if self.people < 2 * self.communities:
            raise BadConfig(
                f"{self.people} people do not fill {self.communities} communities",
                "A community needs two people at least.",
            )

    @property
    def links_per_step(self) -> int:
        """Links of a step of one world."""
        hub_links = HUB_LINKS * QUERIES_PER_POSITIVE * self.positives
        return self.positives + self.more_links + hub_links

    def of_size(self, links: int) -> "PlantedConfig":
        """The same world with another number of links in each world, and people to match.

        People, communities, hubs and links of a step grow in proportion.

        Args:
            links: links of one world, reached up to rounding.
        """
        factor = links / (self.links_per_step * self.steps)
        scaled = {
            name: max(round(getattr(self, name) * factor), least)
            for name, least in (("communities", 2), ("hubs", 2), ("positives", 1))
        }
        more = max(round(self.more_links * factor), 0)
        people = max(round(self.people * factor), 2 * scaled["communities"])
        return replace(self, **scaled, people=people, more_links=more)


_LEAST: dict[str, float] = {
    "people": 4,
    "communities": 2,
    "hubs": 2,
    "steps": MIN_STEPS,
    "positives": 1,
    "more_links": 0,
    "friends": 1,
    "activity_spread": 0.0,
    "hub_decay": 0.0,
    "noise": 0.0,
    "node_dim": 1,
}
assert set(_LEAST) <= {one.name for one in fields(PlantedConfig)}
