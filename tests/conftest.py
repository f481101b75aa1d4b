"""Shared set-up of all tests: shapes are checked, sums are deterministic."""

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Every jaxtyping annotation of the package is checked while the tests run.
install_import_hook("oodlinker", "beartype.beartype")

import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

# The same examples every time, so that one tree always gives one verdict; the profile "explore"
# (HYPOTHESIS_PROFILE=explore) looks for new ones.
settings.register_profile("steady", derandomize=True, print_blob=True)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

torch.use_deterministic_algorithms(True)
torch.set_num_threads(int(os.environ.get("OODLINKER_TEST_THREADS", "1")))

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared data sets are not beside this checkout")
    return SHARED_DATA
