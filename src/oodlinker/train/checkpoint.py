"""Tensor files that verify themselves: safetensors with a digest of everything inside.

A checkpoint is one file, replaced atomically, so at every moment a whole one stands on disk; no
second file must agree with it. Nothing is ever unpickled.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from oodlinker import files
from oodlinker.errors import BadRun
from oodlinker.train.state import Tensors

VERSION = 1
_HEAD = "oodlinker"


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], kind: str, scalars: Mapping[str, Any]
) -> None:
    """Replace a tensor file.

    Args:
        path: where it shall stand.
        tensors: what it holds; no two may share memory.
        kind: what it is, e.g. "state"; a reader asks for the same.
        scalars: numbers and words that go with it.
    """
    head: dict[str, Any] = {"kind": kind, "version": VERSION, "scalars": dict(scalars)}
    head["sha256"] = _digest(tensors, head)
    # One entry: safetensors writes several in random order, and equal runs shall be equal files.
    files.write_bytes(path, save(dict(tensors), {_HEAD: json.dumps(head)}))


def read_tensors(path: Path, kind: str, remedy: str) -> tuple[Tensors, dict[str, Any]]:
    """Read a tensor file and verify it.

    Args:
        path: where it stands.
        kind: what it must be.
        remedy: what a user can do when it is damaged.

    Raises:
        BadRun: it is missing, truncated, damaged, or of another kind or version.
    """
    where = str(path)
    try:
        with safe_open(path, framework="pt") as handle:
            head = json.loads((handle.metadata() or {}).get(_HEAD, "{}"))
            tensors: Tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadRun("there is no such file", remedy, where=where) from None
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise BadRun(f"it is damaged ({error})", remedy, where=where) from error
    if not isinstance(head, dict) or head.get("kind") != kind:
        raise BadRun(f"it holds no {kind}", remedy, where=where)
    if head.get("version") != VERSION:
        raise BadRun(
            f"its format has version {head.get('version')}, this oodlinker reads {VERSION}",
            "Read it with the oodlinker that wrote it, or update oodlinker.",
            where=where,
        )
    if head.pop("sha256", None) != _digest(tensors, head):
        raise BadRun("it is damaged: its content does not match its hash", remedy, where=where)
    return tensors, dict(head["scalars"])


def _digest(tensors: Mapping[str, Tensor], head: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(head).encode())
    for name in sorted(tensors):
        table = tensors[name].detach().contiguous()
        digest.update(f"\n{name} {table.dtype} {list(table.shape)}\n".encode())
        digest.update(table.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
