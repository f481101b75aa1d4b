"""Guessing which column says what."""

import pytest

from oodlinker.data.columns import choose_roles
from oodlinker.errors import BadColumn

NOTHING_NAMED = {"src": None, "dst": None, "time": None, "domain": None}


def chosen(columns, given=NOTHING_NAMED, features=()):
    return choose_roles(columns, given, features, optional=("domain",), where="links.csv")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["src", "dst", "time", "domain"], ["src", "dst", "time", "domain"]),
        (["time", "domain", "dst", "src", "paper"], ["src", "dst", "time", "domain"]),
        (["Source", "Target", "Timestamp"], ["Source", "Target", "Timestamp"]),
        (["from", "to", "date", "label"], ["from", "to", "date", "label"]),
        (["user_id", "item_id", "ts", "category"], ["user_id", "item_id", "ts", "category"]),
        (["User ID", "Item-ID", " year "], ["User ID", "Item-ID", " year "]),
        (["author", "coauthor", "year", "field"], ["author", "coauthor", "year", "field"]),
        (["u", "v", "t", "type"], ["u", "v", "t", "type"]),
        (["userId", "movieId", "rating", "timestamp"], ["userId", "movieId", "timestamp"]),
        (["reviewer", "business_id", "date"], ["reviewer", "business_id", "date"]),
        (["src", "dst", "time", "source", "target"], ["src", "dst", "time"]),
    ],
)
def test_common_names_are_known(columns, expected):
    roles = chosen(columns)
    assert list(roles.names.values()) == expected
    assert roles.guessed == tuple(roles.names)


def test_a_named_column_is_taken_as_it_is_and_not_given_a_second_role():
    roles = chosen(["time", "src", "to", "when"], {**NOTHING_NAMED, "src": "to", "dst": "src"})
    assert roles.names == {"src": "to", "dst": "src", "time": "time"}
    assert roles.guessed == ("time",)


def test_the_guess_can_be_read():
    text = str(chosen(["u", "v", "t", "feat_a"], {**NOTHING_NAMED, "time": "t"}))
    assert text == 'src = "u" (guessed), dst = "v" (guessed), time = "t"; features: feat_a'


def test_an_empty_name_leaves_a_role_out():
    assert "domain" not in chosen(["u", "v", "t", "type"], {**NOTHING_NAMED, "domain": ""}).names


def test_features_are_named_or_begin_with_feat():
    columns = ["src", "dst", "time", "feat_b", "weight", "feat_a"]
    assert chosen(columns).features == ("feat_b", "feat_a")
    assert chosen(columns, features=["weight"]).features == ("weight",)


@pytest.mark.parametrize("missing", ["src", "dst", "time"])
def test_a_role_that_nothing_looks_like_says_how_to_name_it(missing):
    columns = [one for one in ("src", "dst", "time") if one != missing] + ["x"]
    with pytest.raises(BadColumn, match=f"--{missing} NAME") as caught:
        chosen(columns)
    assert '"x"' in str(caught.value)


def test_two_columns_of_the_same_plain_name_are_ambiguous():
    with pytest.raises(BadColumn, match='"Time" and "time" both look like time'):
        chosen(["src", "dst", "Time", "time"])


def test_a_name_that_does_not_exist_offers_the_nearest():
    with pytest.raises(BadColumn, match=r'no column "tiem"\. Did you mean "time"'):
        chosen(["src", "dst", "time"], {**NOTHING_NAMED, "time": "tiem"})


def test_a_column_named_for_two_roles_is_refused():
    with pytest.raises(BadColumn, match="src and dst"):
        chosen(["a", "b", "time"], {**NOTHING_NAMED, "src": "a", "dst": "a"})


def test_a_named_feature_may_have_another_role_too():
    roles = chosen(["src", "dst", "time"], {**NOTHING_NAMED, "time": "time"}, features=["time"])
    assert (roles.names["time"], roles.features) == ("time", ("time",))
