"""A fingerprint of all that training sees: equal data, features, pairs and split, or not."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from oodlinker.graph.worlds import TrainingSet


def fingerprint(training: TrainingSet) -> str:
    """SHA-256 over a training set."""
    digest = hashlib.sha256()
    _feed(digest, training)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Add a value: tensors by their bytes, other things by their type and what they hold."""
    digest.update(f"{type(value).__qualname__}(".encode())
    if isinstance(value, Tensor):
        digest.update(f"{value.dtype} {list(value.shape)}:".encode())
        digest.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    elif isinstance(value, Mapping):
        for key in sorted(value):
            digest.update(f"{key}=".encode())
            _feed(digest, value[key])
    elif isinstance(value, (list, tuple)):
        for one in value:
            _feed(digest, one)
    elif is_dataclass(value):
        names = [one.name for one in fields(value) if not one.name.startswith("_")]
        _feed(digest, {name: getattr(value, name) for name in names})
    elif hasattr(value, "__dict__"):
        _feed(digest, vars(value))
    else:
        digest.update(repr(value).encode())
    digest.update(b")")
