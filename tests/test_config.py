"""Configuration: what is legal comes in typed, what is not names the place and what is legal."""

import tomllib
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodlinker.config import (
    apply_sets,
    from_mapping,
    merge,
    read_toml,
    to_mapping,
    write_toml,
)
from oodlinker.errors import BadConfig, BadFile


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    name: str = "x"


@dataclass(frozen=True)
class Outer:
    count: int = 3
    flag: bool = False
    kind: Literal["soft", "hard"] = "soft"
    widths: tuple[int, ...] = (8, 8)
    span: tuple[int, float] = (1, 2.0)
    limit: int | None = None
    label: int | str = 0
    inner: Inner = field(default_factory=Inner)


@dataclass(frozen=True)
class Positive:
    value: int

    def __post_init__(self) -> None:
        if self.value < 1:
            raise BadConfig(f"{self.value} is not above 0")


def test_empty_mapping_gives_the_defaults() -> None:
    assert from_mapping(Outer, {}) == Outer()


def test_values_come_in_with_the_types_of_the_annotations() -> None:
    """TOML knows lists and whole numbers where the dataclass has tuples and floats."""
    made = from_mapping(
        Outer,
        {"widths": [4], "span": [2, 3], "limit": 7, "label": "seven", "inner": {"rate": 1}},
    )
    assert made == Outer(widths=(4,), span=(2, 3.0), limit=7, label="seven", inner=Inner(1.0))
    assert type(made.inner.rate) is float


@pytest.mark.parametrize(
    ("values", "place", "says"),
    [
        ({"count": 1.5}, "f.toml:count", "is not a whole number"),
        ({"count": True}, "f.toml:count", "is not a whole number"),
        ({"flag": 1}, "f.toml:flag", "is not true or false"),
        ({"kind": "sof"}, "f.toml:kind", "Did you mean 'soft'?"),
        ({"widths": 8}, "f.toml:widths", "is not a list"),
        ({"widths": [8, "x"]}, "f.toml:widths[1]", "is not a whole number"),
        ({"span": [1]}, "f.toml:span", "is not a list of 2"),
        ({"limit": "much"}, "f.toml:limit", 'is not a whole number or "none"'),
        ({"label": 1.5}, "f.toml:label", "is not a whole number or text"),
        ({"inner": 3}, "f.toml:inner", "is not a table"),
        ({"inner": {"rate": "fast"}}, "f.toml:inner.rate", "'fast' is not a number"),
        ({"inner": {"rate": 10**400}}, "f.toml:inner.rate", "is not a number"),
        ({"inner": {"name": 5}}, "f.toml:inner.name", "Put it in quotes"),
    ],
)
def test_value_of_another_type_is_refused_with_its_place(
    values: dict[str, Any], place: str, says: str
) -> None:
    with pytest.raises(BadConfig) as caught:
        from_mapping(Outer, values, where="f.toml:")
    assert caught.value.where == place
    assert says in str(caught.value)


def test_unknown_key_names_the_nearest_and_all_legal_ones() -> None:
    """interface.md: an unknown key names the legal ones."""
    with pytest.raises(BadConfig) as caught:
        from_mapping(Outer, {"inner": {"rat": 1.0}}, where="f.toml:")
    assert caught.value.where == "f.toml:inner"
    assert "'rat'" in caught.value.what
    assert caught.value.remedy == "Did you mean 'rate'? Legal: rate, name."


def test_field_without_value_is_named() -> None:
    with pytest.raises(BadConfig, match="'value' has no value"):
        from_mapping(Positive, {})


def test_error_of_the_dataclass_itself_gets_the_place() -> None:
    with pytest.raises(BadConfig) as caught:
        from_mapping(Positive, {"value": 0}, where="f.toml:model")
    assert (caught.value.what, caught.value.where) == ("0 is not above 0", "f.toml:model")


def test_none_survives_toml() -> None:
    """TOML has no null: a field that may be None is written as the text "none"."""
    text = write_toml(to_mapping(Outer(limit=None)))
    assert 'limit = "none"' in text
    assert from_mapping(Outer, tomllib.loads(text)) == Outer(limit=None)


def test_resolved_configuration_survives_toml() -> None:
    made = Outer(9, True, "hard", (), (3, 1e-300), 4, 'a "b"\n\x7f', Inner(float("inf"), "ü"))
    assert from_mapping(Outer, tomllib.loads(write_toml(to_mapping(made)))) == made


def test_every_value_is_written_in_the_order_of_the_fields() -> None:
    assert list(tomllib.loads(write_toml(to_mapping(Outer())))) == [
        "count",
        "flag",
        "kind",
        "widths",
        "span",
        "limit",
        "label",
        "inner",
    ]


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
scalars = (
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
trees = st.recursive(
    st.dictionaries(keys, scalars | st.lists(scalars, max_size=3), max_size=3),
    lambda inner: st.dictionaries(keys, inner | scalars | st.lists(inner, max_size=2), max_size=3),
    max_leaves=8,
)


@given(trees)
def test_toml_that_is_written_reads_back(tree: dict[str, Any]) -> None:
    """Any tree of text, numbers, lists and tables; the reader is Python's own."""
    assert tomllib.loads(write_toml(tree)) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        (".05", 0.05),
        ("-.5", -0.5),
        ("64", 64),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("symmetric", "symmetric"),
        ('"64"', "64"),
        ("2005-01-02", "2005-01-02"),
        (".x", ".x"),
        ("a = 1\nb", "a = 1\nb"),
        ("", ""),
    ],
)
def test_value_of_a_set_is_read_as_toml_or_else_as_text(text: str, value: Any) -> None:
    assert apply_sets({}, [f"train.lr={text}"]) == {"train": {"lr": value}}


def test_sets_leave_the_tree_they_are_given_alone() -> None:
    tree = {"train": {"lr": 1.0, "epochs": 3}}
    assert apply_sets(tree, ["train.lr=2.0", "seed=1"]) == {
        "train": {"lr": 2.0, "epochs": 3},
        "seed": 1,
    }
    assert tree == {"train": {"lr": 1.0, "epochs": 3}}


@pytest.mark.parametrize("text", ["train.lr", "=3", "train..lr=3", "seed.x=3"])
def test_set_that_assigns_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadConfig):
        apply_sets({"seed": 0}, [text])


def test_merge_replaces_values_and_joins_tables() -> None:
    under = {"a": {"x": 1, "y": 2}, "b": 3}
    assert merge(under, {"a": {"y": 5}, "c": {"z": 1}}) == {
        "a": {"x": 1, "y": 5},
        "b": 3,
        "c": {"z": 1},
    }
    assert under == {"a": {"x": 1, "y": 2}, "b": 3}


def test_broken_toml_names_file_and_line(tmp_path: Any) -> None:
    path = tmp_path / "run.toml"
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(BadConfig, match="line 2") as caught:
        read_toml(path)
    assert caught.value.where == str(path)


def test_missing_or_unreadable_toml_is_a_bad_file(tmp_path: Any) -> None:
    with pytest.raises(BadFile, match="no such file"):
        read_toml(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'a = "\xff"')
    with pytest.raises(BadFile, match="cannot be read"):
        read_toml(tmp_path / "latin.toml")
