import json

import pytest

from oodlinker import catalog
from oodlinker.config import apply_sets
from oodlinker.train.run_config import RunConfig


def test_every_method_is_listed_with_reference_and_cost(call):
    listed = json.loads(call("methods", "--json").out)["methods"]
    assert [row["method"] for row in listed] == list(catalog.MODELS)
    assert all(row["summary"] and row["reference"] and row["cost"] for row in listed)
    assert {row["method"]: row["parameters"] > 0 for row in listed} == {
        name: cls.spec.trains and cls.spec.gradient for name, cls in catalog.MODELS.items()
    }


def test_the_list_has_a_line_a_method(call):
    lines = call("methods").out.splitlines()
    assert len(lines) == len(catalog.MODELS) + 1
    assert lines[1].startswith("ood-linker")


def test_one_method_lists_every_setting_with_default_and_meaning(call):
    told = json.loads(call("methods", "ood-linker", "--json").out)
    tree = RunConfig.resolve("ood-linker").to_mapping()
    expected = {
        f"{table}.{key}": value
        for table in ("model", "objective", "train")
        for key, value in tree[table].items()
    }
    assert {one["key"]: one["default"] for one in told["settings"]} == expected
    assert all(one["about"] for one in told["settings"])


def test_defaults_are_written_as_set_takes_them(call):
    lines = call("methods", "ood-linker").out.splitlines()
    rows = [line.split()[:2] for line in lines if line.startswith(("model.", "train."))]
    tree = apply_sets({}, [f"{key}={default}" for key, default in rows])
    assert RunConfig.resolve("ood-linker", tree) == RunConfig.resolve("ood-linker")


def test_a_trivial_method_has_no_settings(call):
    assert json.loads(call("methods", "recency", "--json").out)["settings"] == []


@pytest.mark.parametrize("name", ["ood-linkr", ""])
def test_an_unknown_method_is_refused(call, name):
    done = call("methods", name)
    assert done.code == 2
    assert "error[bad-method]" in done.err
