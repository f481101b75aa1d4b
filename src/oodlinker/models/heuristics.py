"""The trivial methods: what links and features say without any learning.

They have no parameters, stand beside every result, and show what a learned method must beat.
Scores only rank pairs of one step; they are no log-odds. All are exact, in float64. The two that
read features stand in `cosines`.

Undirected links have no order. In directed graphs pairs are ordered wherever that means something
(repeat link, degree product, recency) and partners are partners in either direction elsewhere. In
bipartite graphs two ends never share a partner, so that paths of length three stand in for
common neighbours.
"""

from abc import abstractmethod
from dataclasses import replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.features.pair_paths import PathWeight, Ties, by_step
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import Step, World
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State
from oodlinker.models.cosines import FeatureCosine, NeighbourCosine, NoConfig
from oodlinker.models.link_log import NEVER, Events, LinkLog, pair_key

TIE = 2.0**30  # weighted sums are rounded to 1 / TIE, for sums in another order must still tie


class Remembering(LinkModel):
    """A method without parameters that keeps every link and counts those before a query's step."""

    Config = NoConfig

    def __init__(self, dims: Dims, config: NoConfig | None = None) -> None:
        super().__init__(dims)

    def start(self, num_nodes: int) -> State:
        """No links yet."""
        return State(-1, num_nodes, links=LinkLog.empty().tables())

    def advance(self, state: State, step: Step) -> State:
        """Append the links of a step."""
        links = LinkLog.of_state(state).followed_by(step).tables()
        return replace(state, clock=step.index, links=links)

    def score(self, state: State, queries: Queries) -> Scores:
        """Count in the links of the state."""
        return Scores(self.count(LinkLog.of_state(state), queries).to(torch.float64))

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        """Count in all links of the world at once: each query's step says which are past."""
        return Scores(self.count(LinkLog.of_world(world), queries).to(torch.float64))

    @abstractmethod
    def count(self, log: LinkLog, queries: Queries) -> Tensor:
        """Score queries from the links of the log that are earlier than each query's step."""
        ...


class RepeatLink(Remembering):
    """Number of earlier links of the same pair, repeats included; directed: in this direction.

    Reference: Poursafaei et al., "Towards Better Evaluation for Dynamic Link Prediction", 2022
    (EdgeBank, with counts).
    """

    spec = Spec(
        state="window",
        summary="how often the pair linked before",
        reference='Poursafaei et al., "Towards Better Evaluation for Dynamic Link Prediction", '
        "2022",
        cost="O((L + Q) log L)",
        trains=False,
    )

    def count(self, log: LinkLog, queries: Queries) -> Int64[Tensor, " query"]:
        """Earlier links of each pair."""
        seen, asked = _pairs(log, queries, directed=self.dims.directed)
        return seen.count_before(asked, queries.step)


class CommonNeighbours(Remembering):
    """Number of distinct nodes that linked with both ends, in either direction; no self-loops.

    However often a partner linked, it counts once. Bipartite: number of paths u - a - b - v of
    four distinct nodes (as many as common neighbours of u and v's other partners).

    Reference: Liben-Nowell and Kleinberg, "The Link-Prediction Problem for Social Networks", 2007;
    paths of length three: Kovacs et al., "Network-Based Prediction of Protein Interactions", 2019.
    """

    spec = Spec(
        state="window",
        summary="how many distinct partners both have; bipartite: paths of length three",
        reference='Liben-Nowell and Kleinberg, "The Link-Prediction Problem for Social Networks", '
        "2007",
        cost="O((L + Q k) log L), k partners of the rarer end",
        trains=False,
    )

    def count(self, log: LinkLog, queries: Queries) -> Float[Tensor, " query"]:
        """Common partners, or paths of length three."""
        return _short_paths(log, queries, bipartite=self.dims.bipartite, rare=False)


class AdamicAdar(Remembering):
    """Sum over the common neighbours w of 1 / log k_w, k_w = distinct partners of w so far.

    Neighbours as in `CommonNeighbours`. Bipartite: sum over the paths u - a - b - v of
    1 / (log k_a log k_b). A node asked about with itself counts partners of one as if of two.

    Reference: Adamic and Adar, "Friends and Neighbors on the Web", 2003.
    """

    spec = Spec(
        state="window",
        summary="common partners, those with few partners count for more",
        reference='Adamic and Adar, "Friends and Neighbors on the Web", 2003',
        cost="O((L + Q k) log L), k partners of the rarer end",
        trains=False,
    )

    def count(self, log: LinkLog, queries: Queries) -> Float[Tensor, " query"]:
        """Weighted common partners, or weighted paths of length three."""
        total = _short_paths(log, queries, bipartite=self.dims.bipartite, rare=True)
        return (total * TIE).round() / TIE


class DegreeProduct(Remembering):
    """(1 + links of u so far) (1 + links of v so far), repeats included, a self-loop once.

    Directed: links from u, links to v. The ones keep the popularity of v in sight when u is new:
    in a citation graph every source is.

    Reference: Newman, "Clustering and Preferential Attachment in Growing Networks", 2001.
    """

    spec = Spec(
        state="window",
        summary="product of the two nodes' link counts, each plus one",
        reference='Newman, "Clustering and Preferential Attachment in Growing Networks", 2001',
        cost="O((L + Q) log L)",
        trains=False,
    )

    def count(self, log: LinkLog, queries: Queries) -> Int64[Tensor, " query"]:
        """Product of the counts before the query's step."""
        source, target = _ends(log, directed=self.dims.directed)
        step = queries.step
        first = source.count_before(queries.src_node, step)
        return (1 + first) * (1 + target.count_before(queries.dst_node, step))


class Recency(Remembering):
    """Minus the steps since the pair's last link; among equal ones the ends' recency decides.

        score = -(t - last(u, v)) + (1 / (t - last(u)) + 1 / (t - last(v))) / 4

    at step t. A pair that never linked waits for t + 1 steps, longer than any that did; a node
    that never linked adds 0. Only the last link counts, not how many there were. Directed: the
    pair in this direction, u's last link out, v's last link in.

    Reference: Tylenda et al., "Towards Time-Aware Link Prediction in Evolving Social Networks",
    2009.
    """

    spec = Spec(
        state="window",
        summary="how recently the pair linked, then how recently both nodes did",
        reference='Tylenda et al., "Towards Time-Aware Link Prediction in Evolving Social '
        'Networks", 2009',
        cost="O((L + Q) log L)",
        trains=False,
    )

    def count(self, log: LinkLog, queries: Queries) -> Float[Tensor, " query"]:
        """Steps since the last link of the pair, ties broken by the ends."""
        step = queries.step
        seen, asked = _pairs(log, queries, directed=self.dims.directed)
        source, target = _ends(log, directed=self.dims.directed)
        # NEVER is -1: a pair that never linked waits since the step before the first.
        wait = (step - seen.last_before(asked, step)).double()
        first = source.last_before(queries.src_node, step)
        second = target.last_before(queries.dst_node, step)
        return (_freshness(first, step) + _freshness(second, step)) / 4 - wait


HEURISTICS: dict[str, type[LinkModel]] = {
    "feature-cosine": FeatureCosine,
    "neighbour-cosine": NeighbourCosine,
    "repeat-link": RepeatLink,
    "common-neighbours": CommonNeighbours,
    "adamic-adar": AdamicAdar,
    "degree-product": DegreeProduct,
    "recency": Recency,
}


def _pairs(log: LinkLog, queries: Queries, *, directed: bool) -> tuple[Events, Tensor]:
    """The links of the log by pair, and the asked pairs."""
    seen = Events(pair_key(log.src, log.dst, directed=directed), log.step)
    return seen, pair_key(queries.src_node, queries.dst_node, directed=directed)


def _ends(log: LinkLog, *, directed: bool) -> tuple[Events, Events]:
    """The links of the log by source and by target; without direction, by either end."""
    if directed:
        return Events(log.src, log.step), Events(log.dst, log.step)
    apart = log.src != log.dst
    ends = torch.cat([log.src, log.dst[apart]])
    both = Events(ends, torch.cat([log.step, log.step[apart]]))
    return both, both


def _short_paths(
    log: LinkLog, queries: Queries, *, bipartite: bool, rare: bool
) -> Float[Tensor, " query"]:
    """Common partners, or paths of length three, all alike or by the rarity of the inner nodes."""
    ties = Ties(log.src, log.dst, log.step)
    src, dst = queries.src_node, queries.dst_node
    total = torch.zeros(len(queries), dtype=torch.float64)
    for step, rows in by_step(queries.step):
        past = ties.before(step)
        weight = past.evenly()
        if rare:
            weight = PathWeight(weight.tie, past.rarity())
        follow = past.paths_of_three if bipartite else past.common
        (total[rows],) = follow(src[rows], dst[rows], [weight])
    return total


def _freshness(last: Int64[Tensor, " query"], step: Int64[Tensor, " query"]) -> Tensor:
    return torch.where(last == NEVER, 0.0, 1 / (step - last).double())
