"""K-means domains: the clusters that are there, as scikit-learn finds them, and reproducible."""

from dataclasses import replace

import numpy as np
import pandas
import pytest
import torch

import oodlinker as ol
from oodlinker.errors import BadColumn, BadConfig
from oodlinker.features.clusters import cluster_domains, fit_centres, nearest
from small_graphs import random_graph

SIZES = (60, 40, 20)


def blobs(seed=0, spread=0.2):
    stream = torch.Generator().manual_seed(seed)
    centre = torch.tensor([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]).repeat_interleave(
        torch.tensor(SIZES), dim=0
    )
    return (centre + spread * torch.randn(centre.shape, generator=stream)).double()


def featured(table=None, names=("a", "b")):
    graph = random_graph(1, "undirected", links=320)
    stream = torch.Generator().manual_seed(1)
    table = torch.randn(len(graph), 2, generator=stream) if table is None else table
    return replace(graph, edge_feat=table, edge_feat_names=names)


def test_clusters_that_stand_apart_are_found_and_the_largest_comes_first():
    label = nearest(blobs(), fit_centres(blobs(), 3))
    assert label.tolist() == [place for place, size in enumerate(SIZES) for _ in range(size)]


@pytest.mark.parametrize("seed", range(5))
def test_centres_are_as_good_as_those_of_scikit_learn(seed):
    from sklearn.cluster import KMeans

    table = torch.rand(300, 4, generator=torch.Generator().manual_seed(seed)).double()
    truth = KMeans(5, n_init=10, random_state=seed).fit(table.numpy()).inertia_
    centre = fit_centres(table, 5)
    own = (table - centre[nearest(table, centre)]).square().sum()
    assert float(own) <= truth * 1.03


def test_every_centre_is_the_mean_of_its_rows():
    table = blobs(2, spread=2.0)
    centre = fit_centres(table, 4)
    label = nearest(table, centre)
    means = torch.stack([table[label == one].mean(0) for one in range(4)])
    assert torch.allclose(centre, means)


def test_as_many_clusters_as_distinct_rows_fit_without_rest():
    table = torch.tensor([[0.0], [0.0], [1.0], [7.0], [7.0], [7.0]]).double()
    assert sorted(fit_centres(table, 3).flatten().tolist()) == [0, 1, 7]


def test_the_same_seed_gives_the_same_domains():
    graph = featured()
    one, other = (cluster_domains(graph, 4, seed=2) for _ in range(2))
    assert one.fingerprint() == other.fingerprint()


def test_domains_are_the_nearest_centres_fitted_on_the_training_steps():
    graph = featured()
    made = cluster_domains(graph, 3, split=(4, 2, 2))
    centre = fit_centres(graph.edge_feat[graph.time < 2004].double(), 3)
    assert torch.equal(nearest(made.edge_feat.double(), centre), made.domain)
    assert made.domain_names == (0, 1, 2)
    assert len(made) == len(graph)


def test_a_window_moves_the_training_steps():
    graph = featured()
    made = cluster_domains(graph, 3, split=(3, 1, 1), window=(2002, 2007))
    inside = (graph.time >= 2002) & (graph.time < 2005)
    centre = fit_centres(graph.edge_feat[inside].double(), 3)
    assert torch.equal(nearest(made.edge_feat.double(), centre), made.domain)


def test_some_of_the_features_can_be_named():
    graph = featured()
    other = replace(graph, edge_feat=graph.edge_feat * torch.tensor([1.0, 0.0]))
    one, two = (cluster_domains(each, 3, features=["a"]) for each in (graph, other))
    assert torch.bincount(one.domain).tolist() == torch.bincount(two.domain).tolist()


def test_one_domain_can_be_held_out_at_once():
    graph = cluster_domains(featured(), 3, split=(4, 2, 2))
    worlds = ol.hold_out(graph, domain=2, split=(4, 2, 2))
    assert len(worlds.shifted.src) == int((graph.domain == 2).sum())


def test_links_without_features_are_refused():
    with pytest.raises(BadColumn, match="no features"):
        cluster_domains(random_graph(0, "undirected"))


def test_an_unknown_feature_is_named():
    with pytest.raises(BadColumn, match='"c"'):
        cluster_domains(featured(), features=["c"])


@pytest.mark.parametrize("k", [0, 3])
def test_more_clusters_than_distinct_links_are_refused(k):
    graph = featured()
    two = (torch.arange(len(graph)) % 2).float().unsqueeze(1).expand(-1, 2).contiguous()
    with pytest.raises(BadConfig, match=f"cannot make {k} clusters"):
        cluster_domains(replace(graph, edge_feat=two), k)


@pytest.mark.data
def test_movielens_ratings_fall_into_five_domains(shared_data):
    """README of the shared data: "repeat ACT's recipe: K-means (5) on the link features"."""
    file = shared_data / "movielens100k" / "edges.parquet"
    genres = [one for one in pandas.read_parquet(file).columns if one.startswith("feat_genre")]
    graph = ol.read_links(
        file, kind="bipartite", time="week", edge_feat=genres, tell=lambda text: None
    )
    made = ol.cluster_domains(graph, 5, split=(20, 2, 8), window=(0, 30))
    size = torch.bincount(made.domain)
    assert size.numel() == 5
    assert int(size.min()) > 0
    thriller = made.edge_feat[:, genres.index("feat_genre_Thriller")]
    share = np.array([float(thriller[made.domain == one].mean()) for one in range(5)])
    assert share.max() > 0.9
