"""What the manifest of a run says: the method, the data, and what could change its bits."""

import platform
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy
import safetensors
import torch

from oodlinker.graph.worlds import TrainingSet, Worlds
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.fingerprint import fingerprint


def environment() -> dict[str, Any]:
    """Versions, kind of machine and number of threads: the same seed gives the same bits in it."""
    from oodlinker import __version__  # here, for the package imports this room to make its front

    return {
        "versions": {
            "oodlinker": __version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "numpy": numpy.__version__,
            "safetensors": safetensors.__version__,
        },
        "machine": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "threads": torch.get_num_threads(),
    }


def describe(cls: type[LinkModel], worlds: Worlds, training: TrainingSet) -> dict[str, Any]:
    """The facts of a run that its data and its method decide."""
    split = worlds.split
    return {
        "class": f"{cls.__module__}:{cls.__qualname__}",
        "dims": asdict(Dims.of(worlds.train)),
        "training_data": fingerprint(training),
        "protocol": worlds.protocol,
        "held_out": worlds.held_out,
        "data_seed": worlds.data_seed,
        "split": [split.train, split.valid, split.test],
        "pair_source": worlds.pair_source.name,
        "notes": dict(worlds.notes),
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of the environment is not as the manifest says, in words."""
    flat = {name: before.get(name) for name in ("machine", "threads")}
    flat |= dict(before.get("versions", {}))
    current = {"machine": now["machine"], "threads": now["threads"], **now["versions"]}
    return [
        f"{name} was {flat.get(name)}, is {value}"
        for name, value in current.items()
        if flat.get(name) != value
    ]
