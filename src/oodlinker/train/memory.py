"""How much memory training will take, said before it starts.

What autograd keeps for the backward pass is measured on the first steps of the training world and
scaled by the number of links: no formula of a method is needed, a user's own is measured too.

    bytes = LIVE * kept + LINK * links + QUERY * pairs + 4 * bytes of the parameters

It is an estimate: within a factor of three where activity per step is of one kind throughout.
"""

import copy
import os
import warnings
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from oodlinker.errors import NotEnoughMemory
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import Split, TrainingSet, World
from oodlinker.models.contract import Context, LinkModel

SAMPLE_LINKS = 20_000
LIVE = 1.5  # kept tensors and, beside them, the gradients and temporaries of the largest ones
LINK = 1000  # bytes of what a method derives of a link once, while it sorts
QUERY = 250  # bytes of a drawn pair: labels, ends, keys while they are sorted
ROUGH = 3


class MemoryShort(UserWarning):
    """Training may take more memory than is free."""


def estimate_memory(model: LinkModel, training: TrainingSet) -> int:
    """Bytes at the peak of a training epoch, beside what the worlds take already.

    Args:
        model: left as it was; a copy runs on the sample.
        training: what it will be trained on.
    """
    if not (model.spec.trains and model.spec.gradient):
        return LINK * training.world.src.numel()
    steps = _sample_steps(training)
    links = training.world.step_ptr[training.split.train]
    world = training.world.truncated(steps)
    stride = max(1, world.src.numel() // (2 * SAMPLE_LINKS))  # a few huge steps: fewer links
    sample = replace(
        training,
        world=_thinned(world, stride),
        split=Split(min(training.split.train, steps), max(0, steps - training.split.train), 0),
    )
    share = links / max(sample.world.src.numel(), 1)
    kept, pairs = _kept_bytes(model, sample, stride)
    parameters = sum(one.numel() * one.element_size() for one in model.parameters())
    scaled = (LIVE * kept + QUERY * pairs) * max(share, 1.0)
    return int(scaled + LINK * links + 4 * parameters)


def check_memory(needed: int) -> None:
    """Compare an estimate to the machine.

    Raises:
        NotEnoughMemory: even a third of the estimate, which is rough, exceeds what is there.

    Warns:
        MemoryShort: the estimate exceeds what is free.
    """
    total, free = machine_memory()
    remedy = "Train on fewer links or steps (window=...), or with a smaller model."
    if needed > ROUGH * total:
        raise NotEnoughMemory(
            f"training needs about {_gib(needed)}, the machine has {_gib(total)}", remedy
        )
    if needed > free:
        text = f"training may need {_gib(needed)}, {_gib(free)} are free. {remedy}"
        warnings.warn(MemoryShort(text), stacklevel=3)


def machine_memory() -> tuple[int, int]:
    """Bytes that this process may use at all, and that are free now."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = total
    known = Path("/proc/meminfo")
    if known.exists():
        lines = dict(line.split(":", 1) for line in known.read_text().splitlines() if ":" in line)
        free = int(lines.get("MemAvailable", f"{total >> 10} kB").split()[0]) << 10
    limit, used = (
        _number(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current")
    )
    if limit is not None:
        total = min(total, limit)
        free = min(free, max(limit - (used or 0), 0))
    return total, min(free, total)


def _sample_steps(training: TrainingSet) -> int:
    """How many first steps hold enough links, and some to ask about."""
    pointers, last = training.world.step_ptr, training.split.train
    asked = training.draw(Context().stream("training pairs")).step
    first = int(asked.min()) + 1 if asked.numel() else last
    enough = (step for step in range(first, last) if pointers[step] >= SAMPLE_LINKS)
    return next(enough, last)


def _thinned(world: World, stride: int) -> World:
    """Every so-manieth link of a world."""
    if stride == 1:
        return world
    rows = torch.arange(0, world.src.numel(), stride)
    bounds = torch.searchsorted(rows, torch.tensor(world.step_ptr))
    return replace(
        world,
        step_ptr=tuple(bounds.tolist()),
        src=world.src[rows],
        dst=world.dst[rows],
        domain=world.domain[rows],
        edge_feat=None if world.edge_feat is None else world.edge_feat[rows],
        invariant=None if world.invariant is None else world.invariant[rows],
    )


def _kept_bytes(model: LinkModel, sample: TrainingSet, stride: int) -> tuple[int, int]:
    """Bytes that autograd keeps for the backward pass of one epoch on a sample, and its pairs."""
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    model = copy.deepcopy(model).train()
    known = {one.untyped_storage().data_ptr() for one in model.parameters()}
    known |= {sample.world.features.value.untyped_storage().data_ptr()}
    with torch.random.fork_rng(devices=[]):
        context = Context()
        with torch.no_grad():
            context = Context(aux=model.refresh(sample.world, context))
        pairs: Pairs = sample.draw(context.stream("training pairs"))
        if stride > 1:  # pairs that are stored are not thinned with the links
            pairs = pairs.take(torch.arange(0, len(pairs), stride))
        queries = sample.world.queries(pairs)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            scores = model.rollout(sample.world, queries, context)
            terms = model.terms(scores, queries, pairs.label, context)
    assert terms  # the graph lives until here, so no two kept tensors share an address
    return sum(size for place, size in sizes.items() if place not in known), len(pairs)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such limit, or "max"
        return None


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
