"""Boosted trees on pair features: what an engineer would do instead of a network.

    logit(u, v, t) = baseline + sum over trees of tree(f(u, v, t))

with f the features of `oodlinker.features.pairs`, counted in the links before step t. The trees are
scikit-learn's histogram gradient boosting, fitted in one go to one draw of training pairs, without
gradients; the number of iterations is the one with the best in-distribution validation AUC.

Departures: the fitted trees are kept as plain tensors, and scored by our own code, so that a run
folder needs neither pickle nor scikit-learn. Directed and bipartite links are symmetrised.

Reference: Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", 2017.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from oodlinker.errors import BadConfig, BadSplit
from oodlinker.features.pair_paths import Ties
from oodlinker.features.pairs import default_half_life, pair_features
from oodlinker.graph.metrics import auc, per_step
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.worlds import Step, TrainingSet, World
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec, State
from oodlinker.models.link_log import LinkLog
from oodlinker.models.tree_nodes import TreeNodes
from oodlinker.rng import stream_seed


@dataclass(frozen=True)
class TreesConfig:
    """Settings of boosted trees.

    Args:
        iterations: so many trees are fitted; validation chooses how many of them are kept.
        learning_rate: share of each tree that is added.
        leaves: most leaves of a tree.
        min_leaf: fewest training pairs of a leaf.
        l2: penalty on the leaves' values.
        check_every: trees between two numbers of trees that validation chooses from.
        half_life: steps after which a link counts half in decayed features; 0 takes 2 where the
            training world has at most 16 steps, else 3.
    """

    iterations: int = 200
    learning_rate: float = 0.1
    leaves: int = 31
    min_leaf: int = 20
    l2: float = 0.0
    check_every: int = 5
    half_life: float = 0.0

    def __post_init__(self) -> None:
        if min(self.iterations, self.min_leaf, self.check_every) < 1 or self.leaves < 2:
            raise BadConfig("iterations, min_leaf, check_every must be at least 1, leaves 2")
        if not (0 < self.learning_rate < math.inf and 0 <= self.l2 < math.inf):
            raise BadConfig("learning_rate must be above 0, l2 at least 0")
        if not 0 <= self.half_life < math.inf:
            raise BadConfig("half_life must be at least 0")


class Trees(LinkModel):
    """Boosted trees on pair features; see the module's docstring."""

    Config = TreesConfig
    spec = Spec(
        state="window",
        summary="gradient-boosted trees on pair features: repeats, common neighbours, short "
        "paths, recency, degrees, cosine",
        reference='Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", 2017',
        cost="O(T L + Q (k^2 + trees)), k partners of an end, T steps that are asked about",
        gradient=False,
    )

    def __init__(self, dims: Dims, config: TreesConfig | None = None) -> None:
        super().__init__(dims)
        self.config = config or TreesConfig()
        self.half_life = self.config.half_life or default_half_life(dims.steps)
        self.trees = TreeNodes(self.config.iterations, self.config.leaves)

    def start(self, num_nodes: int) -> State:
        """No links yet."""
        return State(-1, num_nodes, links=LinkLog.empty().tables())

    def advance(self, state: State, step: Step) -> State:
        """Append the links of a step."""
        links = LinkLog.of_state(state).followed_by(step).tables()
        return replace(state, clock=step.index, links=links)

    def score(self, state: State, queries: Queries) -> Scores:
        """Score from the links of the state."""
        return Scores(self.trees(self._features(LinkLog.of_state(state), queries)))

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        """Score from all links of the world: each query's step says which are past."""
        return Scores(self.trees(self._features(LinkLog.of_world(world), queries)))

    def fit_pairs(self, training: TrainingSet, pairs: Pairs, context: Context) -> Scores:
        """Fit trees to labelled pairs, and keep as many as validate best."""
        if bool(pairs.label.all()) or not bool(pairs.label.any()):
            raise BadSplit(
                "the training pairs are all of one kind",
                "Train on more steps (split=...), or on more links.",
            )
        log = LinkLog.of_world(training.world)
        table = self._features(log, training.world.queries(pairs))
        seed = stream_seed(context.seed, "trees", context.epoch) % 2**32
        self.trees.take(*_boosted(table, pairs.label, self.config, seed))
        self.trees.keep(self._chosen(training, log))
        return Scores(self.trees(table))

    def _chosen(self, training: TrainingSet, log: LinkLog) -> int:
        """The number of trees with the best validation AUC, the smallest of equal ones."""
        pairs, count = training.valid_pairs, int(self.trees.count)
        if not len(pairs):
            return count
        best, chosen = -1.0, count
        table = self._features(log, training.world.queries(pairs))
        for number, logits in enumerate(self.trees.staged(table), start=1):
            if number % self.config.check_every and number != count:
                continue
            score = per_step(auc, logits, pairs.label, pairs.step)
            if score > best:
                best, chosen = score, number
        return chosen

    def _features(self, log: LinkLog, queries: Queries) -> Float[Tensor, "query feature"]:
        ties = Ties(log.src, log.dst, log.step)
        ordered = self.dims.directed or self.dims.bipartite
        return pair_features(ties, queries, half_life=self.half_life, ordered=ordered)


def _boosted(
    table: Float[Tensor, "query feature"], label: Tensor, config: TreesConfig, seed: int
) -> tuple[float, Sequence[Any]]:
    """The baseline and the node tables of trees fitted by scikit-learn."""
    fitted = classifier(config, seed)
    _fit(fitted, table, label)
    return exported(fitted)


def classifier(config: TreesConfig, seed: int) -> Any:
    """scikit-learn's classifier with these settings, not fitted yet."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=config.learning_rate,
        max_iter=config.iterations,
        max_leaf_nodes=config.leaves,
        min_samples_leaf=config.min_leaf,
        l2_regularization=config.l2,
        early_stopping=False,  # it would hold out random pairs; ours are those of later steps
        random_state=seed,
    )


def exported(fitted: Any) -> tuple[float, Sequence[Any]]:
    """The baseline and the node tables of a fitted classifier of two classes."""
    baseline = float(fitted._baseline_prediction.item())
    return baseline, [tree.nodes for (tree,) in fitted._predictors]


def _fit(fitted: Any, table: Tensor, label: Tensor) -> None:
    from threadpoolctl import threadpool_limits

    # As many threads as torch has: the same number gives the same bits.
    with threadpool_limits(limits=torch.get_num_threads(), user_api="openmp"):
        fitted.fit(table.numpy(), label.numpy())
