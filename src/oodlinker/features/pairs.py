"""Features of a pair from the links before its step: what an engineer would count first.

At step t, over links (u, w, t') with t' < t, self-loops left out, each w counted as a partner of u
whatever the direction of the link:

    repeat            links of the pair
    common            common partners w
    adamic-adar       sum over them of 1 / log k_w, k_w the partners of w
    paths-of-three    paths u - a - b - v of four distinct nodes
    ... decayed       the same with 2^-((t - 1 - t') / half_life) in place of each link: a tie
                      weighs its decayed links, a path the product of its ties' weights
    recency           1 / (t - last link of the pair), 0 if there is none; of both ends likewise
    degree            partners of each end
    activity          decayed links of each end
    cosine            of the ends' features as known once step t - 1 has closed

Directed and bipartite links are symmetrised: they count in both directions alike. What is counted
for each end stands in the order of the pair where that means something (source first in directed
and bipartite graphs), and smaller first in undirected graphs.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.features.pair_paths import Past, PathWeight, Ties, by_step
from oodlinker.graph.queries import Queries

NAMES = (
    "repeat",
    "repeat decayed",
    "common",
    "common decayed",
    "adamic-adar",
    "adamic-adar decayed",
    "paths-of-three",
    "paths-of-three decayed",
    "recency",
    "recency first",
    "recency second",
    "degree first",
    "degree second",
    "activity first",
    "activity second",
    "cosine",
)
ROWS = 1 << 17  # queries whose features are gathered at a time
# Sums of equal numbers in another order differ in their last bits: rounded, they are equal again.
GRAIN = 2.0**30
FEW_STEPS = 16


def default_half_life(num_steps: int) -> float:
    """Steps after which a link counts half: 2 where a world has at most 16 steps, else 3."""
    return 2.0 if num_steps <= FEW_STEPS else 3.0


def pair_features(
    ties: Ties, queries: Queries, *, half_life: float, ordered: bool
) -> Float[Tensor, "query feature"]:
    """The features `NAMES` of each query, from the links before its step.

    Args:
        ties: the links of a world; later ones than a query's are not looked at.
        queries: what is asked, of any steps.
        half_life: steps after which a link counts half in what is decayed, above 0.
        ordered: whether the first end of a pair differs from the second (directed, bipartite).
    """
    src, dst = queries.src_node, queries.dst_node
    table = torch.zeros(len(queries), len(NAMES), dtype=torch.float64)
    for step, rows in by_step(queries.step):
        past = ties.before(step, half_life)
        first, second = past.seat(src[rows]), past.seat(dst[rows])
        found = {
            **_of_the_tie(past, first, second),
            **_of_paths(past, first, second),
            **_of_ends(past, first, second, ordered=ordered),
        }
        table[rows, :-1] = torch.stack([found[name] for name in NAMES[:-1]], dim=1)
    table[:, -1] = cosines_of_ends(queries)
    return table.mul_(GRAIN).round_().div_(GRAIN)


def cosines_of_ends(
    queries: Queries, added: Float[Tensor, "node node_dim"] | None = None
) -> Float[Tensor, " query"]:
    """Cosines of the ends' features, some queries at a time; 0 with features that are all 0.

    Args:
        queries: what is asked.
        added: what is added to the features of each node first.
    """

    def rows(end: Tensor) -> Tensor:
        own = queries.end_feat.index_select(0, end).double()
        return own if added is None else own + added.index_select(0, queries.end_node[end])

    parts = [
        F.cosine_similarity(rows(queries.src[at : at + ROWS]), rows(queries.dst[at : at + ROWS]))
        for at in range(0, len(queries), ROWS)
    ]
    return torch.cat([torch.empty(0, dtype=torch.float64), *parts])


def _of_the_tie(past: Past, first: Tensor, second: Tensor) -> dict[str, Tensor]:
    tied, place = past.find(first, second)
    found = torch.zeros(3, first.numel(), dtype=torch.float64)
    place = place[tied]
    found[0, tied] = past.count[place].double()
    found[1, tied] = past.decayed[place]
    found[2, tied] = 1 / (past.step - past.last[place]).double()
    return dict(zip(("repeat", "repeat decayed", "recency"), found, strict=True))


def _of_paths(past: Past, first: Tensor, second: Tensor) -> dict[str, Tensor]:
    plain = past.evenly()
    decayed = PathWeight(past.decayed, plain.node)
    rare = [PathWeight(one.tie, past.rarity()) for one in (plain, decayed)]
    shared = past.common(first, second, [plain, decayed, *rare])
    long = past.paths_of_three(first, second, [plain, decayed])
    return dict(zip(NAMES[2:8], [*shared, *long], strict=True))


def _of_ends(past: Past, first: Tensor, second: Tensor, *, ordered: bool) -> dict[str, Tensor]:
    last: Int64[Tensor, " node"] = past.last_of_nodes()
    of_nodes = {
        "recency": torch.where(last < 0, 0.0, 1 / (past.step - last).double()),
        "degree": past.degree.double(),
        "activity": past.sum_at_nodes(past.decayed),
    }
    found: dict[str, Tensor] = {}
    for name, value in of_nodes.items():
        one, other = value[first], value[second]
        if not ordered:
            one, other = torch.minimum(one, other), torch.maximum(one, other)
        found |= {f"{name} first": one, f"{name} second": other}
    return found
