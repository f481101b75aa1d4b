"""What the house asks of every entry of a catalog: a test that names it, and a reference."""

import sys
from pathlib import Path

import pytest

from oodlinker.catalog import MODELS, OBJECTIVES
from oodlinker.graph.metrics import METRICS
from oodlinker.graph.samplers import SAMPLERS

CATALOGS = {
    "sampler": SAMPLERS,
    "metric": METRICS,
    "method": MODELS,
    "objective": OBJECTIVES,
}
ENTRIES = [
    pytest.param(name, entry, id=f"{kind} {name}")
    for kind, catalog in CATALOGS.items()
    for name, entry in catalog.items()
]


def files_that_name(name):
    """The test files in which a catalog name stands in quotes."""
    own = Path(__file__)
    files = sorted(path for path in own.parent.rglob("test_*.py") if path != own)
    return [path.name for path in files if f'"{name}"' in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(("name", "entry"), ENTRIES)
def test_every_entry_is_named_by_a_test(name, entry):
    assert files_that_name(name)


@pytest.mark.parametrize(("name", "entry"), ENTRIES)
def test_every_entry_has_a_reference(name, entry):
    # A method tells its paper at the top of its file, where its mathematics stands.
    texts = [entry.__doc__, getattr(sys.modules.get(entry.__module__), "__doc__", None)]
    assert any("Reference:" in text for text in texts if text)


def test_a_name_without_a_test_is_noticed():
    """The control: no test names this, so the check above can fail."""
    assert not files_that_name("-".join(["no", "such", "entry"]))
