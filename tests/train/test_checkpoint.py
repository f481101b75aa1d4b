"""Tensor files that verify themselves."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from oodlinker.errors import BadRun
from oodlinker.train.checkpoint import read_tensors, write_tensors
from oodlinker.train.state import TrainState

TENSORS = {
    "a.weight": torch.randn(3, 2, generator=torch.Generator().manual_seed(0)),
    "step": torch.tensor(7.0),
    "flags": torch.tensor([True, False]),
    "none": torch.zeros(0, 4),
    "wide": torch.tensor([0.1], dtype=torch.float64),
}
SCALARS = {"epoch": 3, "best_auc": 0.1 + 0.2, "warned": False}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.safetensors"
    write_tensors(path, TENSORS, "state", SCALARS)
    return path


def test_what_is_written_reads_back_bit_for_bit(path: Path) -> None:
    tensors, scalars = read_tensors(path, "state", "")
    assert scalars == SCALARS
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], one) for name, one in TENSORS.items())
    assert all(tensors[name].dtype == one.dtype for name, one in TENSORS.items())


def test_no_tensors_at_all_read_back(tmp_path: Path) -> None:
    """A parameter-free method has none."""
    write_tensors(tmp_path / "model", {}, "model", {})
    assert read_tensors(tmp_path / "model", "model", "") == ({}, {})


def test_no_byte_can_change_unnoticed(path: Path) -> None:
    """Every single bit flip of the file is refused; it is small enough to try one per byte."""
    whole = path.read_bytes()
    unnoticed = []
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        try:
            tensors, scalars = read_tensors(path, "state", "remedy")
        except BadRun:
            continue
        equal = all(torch.equal(tensors[name], one) for name, one in TENSORS.items())
        if not (equal and scalars == SCALARS):
            unnoticed.append(place)
    assert unnoticed == []


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file_is_refused_with_the_remedy(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(BadRun, match="damaged") as caught:
        read_tensors(path, "state", "the remedy")
    assert (caught.value.remedy, caught.value.where) == ("the remedy", str(path))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="no such file"):
        read_tensors(tmp_path / "none", "state", "")


def test_file_of_another_kind_is_refused(path: Path) -> None:
    with pytest.raises(BadRun, match="holds no model"):
        read_tensors(path, "model", "")


def test_foreign_safetensors_are_refused(path: Path) -> None:
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(BadRun, match="holds no state"):
        read_tensors(path, "state", "")


def test_other_version_says_which_one_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodlinker.train.checkpoint.VERSION", 2)
    with pytest.raises(BadRun, match="has version 1, this oodlinker reads 2"):
        read_tensors(path, "state", "")


def test_state_survives_its_two_parts() -> None:
    state = TrainState(
        epoch=4,
        weights={"a.b": torch.ones(2)},
        optimizer={"0.exp_avg": torch.zeros(2), "0.step": torch.tensor(3.0)},
        objective={"q": torch.ones(1)},
        best={"a.b": torch.zeros(2)},
        best_epoch=1,
        best_auc=0.75,
        warned=True,
    )
    again = TrainState.from_parts(state.to_tensors(), state.scalars())
    assert again.scalars() == state.scalars()
    assert again.to_tensors().keys() == state.to_tensors().keys()
    assert again.chosen is again.best
    assert list(again.optimizer) == ["0.exp_avg", "0.step"]
