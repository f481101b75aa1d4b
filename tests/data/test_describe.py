"""What `oodlinker data info` counts."""

import json

import pandas
import pytest

from oodlinker.data.describe import describe
from oodlinker.data.read import read_links

LINKS = pandas.DataFrame(
    {
        "src": [1, 2, 1, 3, 1],
        "dst": [2, 1, 2, 3, 2],
        "time": [1_000_000_000, 1_000_000_000, 1_000_000_000, 1_100_000_000, 1_200_000_000],
        "domain": ["a", "a", "b", "b", "b"],
        "feat_x": [1, 2, 3, 4, 5],
    }
)


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def facts():
    nodes = pandas.DataFrame({"id": [1, 9], "feat_y": [1, 2], "feat_z": [3, 4]})
    return describe(read_links(LINKS, nodes=nodes, tell=quiet))


def test_nodes_and_links_are_counted(facts):
    assert (facts["nodes"], facts["nodes_with_links"], facts["links"]) == (4, 3, 5)
    assert facts["distinct_pairs"] == 2
    assert facts["self_loops"] == 1
    assert facts["repeated_links"] == 1
    assert facts["links_per_domain"] == {"a": 2, "b": 3}


def test_times_are_shown_as_they_stand_and_as_dates(facts):
    assert facts["times"] == {
        "unit": "s",
        "first": 1_000_000_000,
        "last": 1_200_000_000,
        "first_date": "2001-09-09T01:46:40+00:00",
        "last_date": "2008-01-10T21:20:00+00:00",
        "distinct": 3,
    }


def test_features_are_named(facts):
    assert facts["link_features"] == {"number": 1, "names": ["feat_x"]}
    assert facts["node_features"] == {"number": 2, "names": ["feat_y", "feat_z"]}


def test_the_facts_are_fit_for_json(facts):
    assert json.loads(json.dumps(facts)) == facts


def test_a_bipartite_graph_has_sources_and_targets():
    facts = describe(read_links(LINKS, kind="bipartite", tell=quiet))
    assert (facts["kind"], facts["sources"], facts["targets"], facts["nodes"]) == (
        *("bipartite", 3, 3),
        6,
    )
    assert facts["self_loops"] == 0


def test_a_graph_without_links_is_described_too():
    facts = describe(read_links(LINKS, tell=quiet).before(0))
    assert (facts["links"], facts["distinct_pairs"], facts["repeated_links"]) == (0, 0, 0)
    assert facts["times"] == {"unit": "s", "distinct": 0}


@pytest.mark.parametrize(
    ("time", "date"), [(10**18, None), (-(10**9), "1938-04-24T22:13:20+00:00")]
)
def test_times_beyond_the_calendar_have_no_date(time, date):
    frame = LINKS[:1].assign(time=time)
    assert describe(read_links(frame, time_unit="s", tell=quiet))["times"]["first_date"] == date
