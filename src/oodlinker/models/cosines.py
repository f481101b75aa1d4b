"""The two trivial methods that read node features: cosines of them, and of them with neighbours'.

Cosines with a node whose features are all zero are 0. All is computed in float64.
"""

from dataclasses import dataclass

import torch

from oodlinker.features.pairs import cosines_of_ends
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import Step, World
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State


@dataclass(frozen=True)
class NoConfig:
    """The trivial methods have nothing to set."""


class FeatureCosine(LinkModel):
    """Cosine of the two ends' own features: x_u[t] . x_v[t] / (|x_u[t]| |x_v[t]|), 0 if one is 0.

    Links, their direction and repeats do not matter.

    Reference: Salton and McGill, "Introduction to Modern Information Retrieval", 1983.
    """

    Config = NoConfig
    spec = Spec(
        state="sums",
        summary="cosine of the two nodes' own features; no history",
        reference='Salton and McGill, "Introduction to Modern Information Retrieval", 1983',
        cost="O(Q d)",
        trains=False,
    )

    def __init__(self, dims: Dims, config: NoConfig | None = None) -> None:
        super().__init__(dims)

    def start(self, num_nodes: int) -> State:
        """Nothing is remembered."""
        return State(-1, num_nodes)

    def advance(self, state: State, step: Step) -> State:
        """Only the clock moves."""
        return state.closed(step)

    def score(self, state: State, queries: Queries) -> Scores:
        """Cosine of the ends' features as known at the query's time."""
        return Scores(cosines_of_ends(queries))

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        """All queries at once, for they need no history."""
        return Scores(cosines_of_ends(queries))


class NeighbourCosine(LinkModel):
    """Cosine of own feature plus the plain sum of all past neighbours' features.

        h_u = x_u[t] + sum over links (u, w, t'), t' <= t, of x_w[t']        score = cos(h_u, h_v)

    A repeated link adds its neighbour again, with the features of that time; a self-loop adds the
    node itself once. Directed and bipartite links count at both ends.

    Reference: Wu et al., "Simplifying Graph Convolutional Networks", 2019 (one hop, no weights).
    """

    Config = NoConfig
    spec = Spec(
        state="sums",
        summary="cosine of own feature plus the sum of all past neighbours' features",
        reference='Wu et al., "Simplifying Graph Convolutional Networks", 2019',
        cost="O((L + Q) d)",
        trains=False,
    )

    def __init__(self, dims: Dims, config: NoConfig | None = None) -> None:
        super().__init__(dims)

    def start(self, num_nodes: int) -> State:
        """No neighbours yet."""
        nothing = torch.zeros(num_nodes, self.dims.node, dtype=torch.float64)
        return State(-1, num_nodes, {"neighbours": nothing})

    def advance(self, state: State, step: Step) -> State:
        """Add the features of each link's ends to one another."""
        apart = step.src != step.dst
        end = torch.cat([step.src, step.dst[apart]])
        other = torch.cat([step.dst, step.src[apart]])
        table = state.nodes["neighbours"]
        return state.closed(step, neighbours=table.index_add(0, end, step.rows(other).to(table)))

    def score(self, state: State, queries: Queries) -> Scores:
        """Cosine of the two sums."""
        return Scores(cosines_of_ends(queries, state.nodes["neighbours"]))
