"""Planted worlds: temporal graphs whose invariant links are known, embedded as the default data.

People of one community link again and again: these links are invariant, a quarter of all. Before
two people link (and before two decoys do not), both link to a hub of the domain, and how often to
the same one says something in each training domain and the opposite in the held-out one: these
links are spurious. A method that follows them shines in training and fails under the shift.

Per step t, with a = activity (log-normal), c = community:
    community pair  u ~ a, v = one of u's friends (share .35) or v ~ a within c(u), v != u
    positives of t  community pairs, which are links of t as well, with some more community pairs
    decoys of t     u ~ a, v ~ a outside c(u)
    hubs            each pair asked at t + 1 links u to a hub h of its domain at t, h ~ rank^-.6,
                    and v to h with the domain's share (decoys: with its complement), else to
                    another hub
    features        Gaussian vector of the community (hubs: of the domain) + noise, length 1

The held-out world has people, communities, hubs and vectors of its own, in the same numbering.

Reference: made for this package; the shift follows the spurious-correlation worlds of Arjovsky et
al., "Invariant Risk Minimization", 2019, carried over to links.
"""

from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.data.planted_config import PlantedConfig
from oodlinker.data.planted_crowd import Crowd, cumulative, draw, draw_except
from oodlinker.errors import BadGraph
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import Split, World, Worlds
from oodlinker.rng import generator

__all__ = ["PlantedConfig", "planted", "planted_graph"]

VALID_STEPS, TEST_STEPS, SHIFTED_STEPS = 2, 1, 6
FIRST_TARGET = 4  # pairs are asked from this step on, so that all of them have some history


def planted(config: PlantedConfig | None = None, *, seed: int = 0) -> Worlds:
    """A training world and a held-out world, with the true flag of every link.

    Args:
        config: size, noise and shift; by default those of the study.
        seed: equal seeds give equal worlds, bit for bit.
    """
    config = config or PlantedConfig()
    plans = _plans(config, seed)
    crowds = [Crowd.drawn(config, plan.stream("people")) for plan in plans]
    value = torch.empty(plans[1].person[1], config.node_dim)
    for plan, crowd in zip(plans, crowds, strict=True):
        stream = plan.stream("features")
        value[plan.number] = _noisy(crowd.center[crowd.community], config.noise, stream)
        center = torch.randn(len(plan.domains), config.node_dim, generator=stream)
        hubs = _noisy(center.repeat_interleave(plan.hubs, dim=0), config.noise, stream)
        value[plan.first_hub : plan.first_hub + len(hubs)] = hubs
    features = NodeFeatures.static(value)
    train, shifted = (
        _world(config, plan, crowd, features) for plan, crowd in zip(plans, crowds, strict=True)
    )
    names = tuple(ascii_lowercase[: len(config.shares) + 1])
    split = Split(config.steps - VALID_STEPS - TEST_STEPS, VALID_STEPS, TEST_STEPS)
    return Worlds(
        train=train,
        shifted=shifted,
        split=split,
        protocol="strict",
        pair_source=StoredPairs(train.pairs.of_steps(split.train_steps)),
        domain_names=names,
        held_out=names[-1],
        data_seed=seed,
        shifted_test_steps=range(max(config.steps - SHIFTED_STEPS, FIRST_TARGET), config.steps),
        notes={"planted people": config.people, "planted hubs": config.hubs},
    )


def is_planted(worlds: Worlds) -> bool:
    """Whether worlds are as `planted` made them."""
    return worlds.shifted is not None and "planted people" in worlds.notes


def planted_graph(worlds: Worlds) -> TemporalGraph:
    """Both planted worlds as one graph with readable ids: what a user's links would look like.

    Times are the numbers of the steps; the held-out world is the domain that sorts last.

    Raises:
        BadGraph: the worlds are not planted ones.
    """
    if worlds.shifted is None or not is_planted(worlds):
        raise BadGraph("these worlds are not planted ones", "Make them with planted().")
    both = (worlds.train, worlds.shifted)
    return TemporalGraph.build(
        ids=_ids(worlds),
        src=torch.cat([world.src for world in both]),
        dst=torch.cat([world.dst for world in both]),
        time=torch.cat([world.step_of_link for world in both]),
        domain=torch.cat([world.domain for world in both]),
        domain_names=worlds.domain_names,
        node_feat=worlds.train.features,
        node_feat_names=tuple(f"x{place:02d}" for place in range(worlds.train.features.dim)),
        invariant=torch.cat([flag for world in both if (flag := world.invariant) is not None]),
    )


@dataclass(frozen=True, eq=False)
class _Plan:
    """What tells one of the two worlds from the other, and where it stands in the numbering.

    The numbering follows the sorted ids: hubs by domain and popularity, then people, whose
    numbers are shuffled so that they say nothing of the community.
    """

    name: str
    seed: int
    domains: range
    shares: Float[Tensor, " domain"]
    hubs: int  # of each domain
    first_hub: int
    person: tuple[int, int]  # the numbers of people: from, up to

    def stream(self, *purpose: str | int) -> torch.Generator:
        return generator(self.seed, "planted", self.name, *purpose)

    @property
    def number(self) -> Int64[Tensor, " person"]:
        low, high = self.person
        return low + torch.randperm(high - low, generator=self.stream("numbers"))


def _plans(config: PlantedConfig, seed: int) -> tuple[_Plan, _Plan]:
    count, people = len(config.shares), config.people
    hubs = config.hubs * count
    shares, held_out = torch.tensor(config.shares), torch.tensor([config.held_out_share])
    first, second = (2 * hubs, 2 * hubs + people), (2 * hubs + people, 2 * hubs + 2 * people)
    name = ascii_lowercase[count]
    return (
        _Plan("train", seed, range(count), shares, config.hubs, 0, first),
        _Plan(name, seed, range(count, count + 1), held_out, hubs, hubs, second),
    )


def _world(config: PlantedConfig, plan: _Plan, crowd: Crowd, features: NodeFeatures) -> World:
    number = plan.number
    links, asked = [], []
    due = _asked(config, plan, crowd, number, 0)  # these positives link, but nobody asks for them
    for step in range(config.steps):
        stream = plan.stream("links", step)
        invariant = _invariant_links(config, plan, crowd, number, due, stream)
        due = _asked(config, plan, crowd, number, step + 1)
        links.append(_ordered(torch.cat([invariant, _hub_links(config, plan, due, stream)], dim=1)))
        if FIRST_TARGET <= step + 1 < config.steps:
            asked.append(due)
    sizes = torch.tensor([0, *(part.shape[1] for part in links)])
    src, dst, domain, flag = torch.cat(links, dim=1)
    return World(
        name=plan.name,
        kind="undirected",
        num_nodes=features.node.numel(),
        num_src=0,
        step_ptr=tuple(sizes.cumsum(0).tolist()),
        src=src,
        dst=dst,
        domain=domain,
        edge_feat=None,
        invariant=flag.bool(),
        features=features,
        pairs=Pairs.concat(asked),
    )


def _asked(config: PlantedConfig, plan: _Plan, crowd: Crowd, number: Tensor, step: int) -> Pairs:
    """Positives and decoys of a step, 1:1, each with a uniform domain."""
    stream = plan.stream("pairs", step)
    positives = crowd.community_pairs(config.positives, config.friend_share, stream)
    decoys = crowd.decoys(config.positives, stream)
    ends = number[torch.cat([positives, decoys], dim=1)]
    domain = _uniform_domains(plan, ends.shape[1], stream)
    label = torch.arange(ends.shape[1]) < config.positives
    return Pairs.of(ends.amin(0), ends.amax(0), torch.full_like(domain, step), label, domain)


def _invariant_links(
    config: PlantedConfig,
    plan: _Plan,
    crowd: Crowd,
    number: Tensor,
    due: Pairs,
    stream: torch.Generator,
) -> Int64[Tensor, "4 link"]:
    """The positives that are due, with their domain, and more community pairs."""
    more = number[crowd.community_pairs(config.more_links, config.friend_share, stream)]
    kept = due.take(due.label)
    ends = torch.cat([torch.stack([kept.src, kept.dst]), more], dim=1)
    domain = torch.cat([kept.domain, _uniform_domains(plan, config.more_links, stream)])
    return _rows(ends, domain, invariant=True)


def _hub_links(
    config: PlantedConfig, plan: _Plan, due: Pairs, stream: torch.Generator
) -> Int64[Tensor, "4 link"]:
    """Two links of each asked pair to hubs of its domain, to the same one with its share."""
    rank = torch.arange(1, plan.hubs + 1, dtype=torch.float64)
    weight = cumulative(rank**-config.hub_decay)
    hub = draw(weight, len(due), stream)
    all_hubs = (torch.zeros_like(hub), torch.full_like(hub, plan.hubs))
    another = draw_except(weight, all_hubs, (hub, hub + 1), stream)
    local = due.domain - plan.domains.start
    share = torch.where(due.label, plan.shares[local], 1 - plan.shares[local])
    shared = torch.rand(len(due), generator=stream) < share
    base = plan.first_hub + local * plan.hubs
    hubs = torch.cat([base + hub, base + torch.where(shared, hub, another)])
    ends = torch.stack([hubs, torch.cat([due.src, due.dst])])
    return _rows(ends, due.domain.repeat(2), invariant=False)


def _rows(ends: Tensor, domain: Tensor, *, invariant: bool) -> Int64[Tensor, "4 link"]:
    """Smaller end, larger end, domain and flag of each link."""
    flag = torch.full_like(domain, int(invariant))
    return torch.stack([ends.amin(0), ends.amax(0), domain, flag])


def _ordered(links: Int64[Tensor, "4 link"]) -> Int64[Tensor, "4 link"]:
    """The links of a step in the order of a `TemporalGraph`."""
    return links[:, torch.from_numpy(np.lexsort(links.flip(0).numpy()))]


def _uniform_domains(plan: _Plan, count: int, stream: torch.Generator) -> Tensor:
    return torch.randint(plan.domains.start, plan.domains.stop, (count,), generator=stream)


def _noisy(center: Tensor, noise: float, stream: torch.Generator) -> Tensor:
    value = center + noise * torch.randn(center.shape, generator=stream)
    return F.normalize(value, dim=1)


def _ids(worlds: Worlds) -> NodeIds:
    """Text ids whose sorted order is the numbering: hub-a-00 ..., then person-0000 ..."""
    people, hubs = (int(worlds.notes[f"planted {what}"]) for what in ("people", "hubs"))
    *training, held_out = worlds.domain_names
    hub_width, width = len(str(hubs * len(training) - 1)), len(str(2 * people - 1))
    names = [f"hub-{name}-{rank:0{hub_width}d}" for name in training for rank in range(hubs)]
    names += [f"hub-{held_out}-{rank:0{hub_width}d}" for rank in range(hubs * len(training))]
    return NodeIds(np.array(names + [f"person-{place:0{width}d}" for place in range(2 * people)]))
