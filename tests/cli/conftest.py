"""A graph folder and a trained run that tests of commands share."""

from collections.abc import Callable

import pytest
from program import QUICK, Done, Home, call, links_csv, pairs_csv


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("home")
    (folder / "links.csv").write_text(links_csv())
    (folder / "pairs.csv").write_text(pairs_csv())
    imported = call("data", "import", folder / "links.csv", "--out", folder / "my.graph")
    assert imported.code == 0, imported.err
    trained = call(
        *("train", folder / "my.graph", "--hold-out", "Data Mining"),
        *("--out", folder / "run", "--seed", 1, *QUICK),
    )
    assert trained.code == 0, trained.err
    return Home(folder, trained)


@pytest.fixture(name="call")
def call_fixture() -> Callable[..., Done]:
    return call
