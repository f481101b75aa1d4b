"""The planted study: every selector on every head, where the true links are known.

    python -m oodlinker.bench.planted --seeds 5 --out docs/results/planted.csv

Finished runs are kept in the results file and not repeated, so a stopped study goes on.
`--inner` measures by leaving one training domain out instead: that is how the defaults are
chosen, and it never touches the test world.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from oodlinker.bench.results import Result, append_results, current_commit, read_results
from oodlinker.catalog import build
from oodlinker.data.planted import planted
from oodlinker.errors import OODLinkerError
from oodlinker.graph.hold_out import inner_worlds
from oodlinker.graph.metrics import auc, per_step
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World, Worlds
from oodlinker.insight.selection import Selection
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.models.heuristics import HEURISTICS
from oodlinker.objectives.bottleneck import Bottleneck
from oodlinker.train.config import TrainConfig
from oodlinker.train.evaluate import scoring
from oodlinker.train.fit import fit

Values = Mapping[str, Any]

HEADS: dict[str, Values] = {
    "concat": {"head": "concat", "time_dim": 9, "edge_code": "constant"},
    "symmetric": {"head": "symmetric"},
    "cosine": {"head": "cosine"},
}
SELECTORS: dict[str, tuple[Values, float]] = {
    "all links": ({"selection": "all"}, 0.0),
    "learned prior, soft": ({"gate": "soft", "prior_support": "links"}, 0.1),
    "fixed prior .27, concrete": (
        {"prior": "fixed", "prior_rate": 0.27, "prior_support": "links"},
        0.1,
    ),
    "fixed prior .0015, concrete": (
        {"prior": "fixed", "prior_rate": 0.0015, "prior_support": "links"},
        0.015,
    ),
    "pairs prior, concrete": ({}, 0.015),
    "pairs prior, concrete, beta .0015": ({}, 0.0015),
    "oracle": ({"selection": "given"}, 0.0),
}
LITERAL_LR = {"concat": 1e-2}  # what the literal head was studied with


def variants(chosen: str = "") -> Iterator[tuple[str, Values, float, TrainConfig]]:
    """Name, model settings, beta and training settings of every cell that holds a word."""
    for head, shape in HEADS.items():
        for selector, (values, beta) in SELECTORS.items():
            name = f"{head}, {selector}"
            if chosen in name:
                yield name, {**shape, **values}, beta, TrainConfig(lr=LITERAL_LR.get(head, 7e-3))


def run_variant(
    worlds: Worlds, values: Values, beta: float, config: TrainConfig, seed: int
) -> dict[tuple[str, str], float]:
    """Train one cell and measure it: (world, metric) -> value."""
    training = worlds.training_set()
    model = build("ood-linker", Dims.of(training.world), values, seed=seed)
    for _ in fit(model, Bottleneck(beta=beta), training, config, seed=seed):
        pass
    return measure(model, worlds)


def measure(model: LinkModel, worlds: Worlds) -> dict[tuple[str, str], float]:
    """AUC in both worlds, and in the shifted one how well the selection finds the true links."""
    values = {}
    places: list[tuple[str, World, Pairs]] = []
    if worlds.split.test:
        places.append(("id", worlds.train, worlds.test_pairs))
    if worlds.shifted is not None:
        places.append(("ood", worlds.shifted, worlds.shifted_pairs))
    for name, world, pairs in places:
        with scoring(model, world) as (seen, context):
            scores = model.rollout(seen, seen.queries(pairs), context)
        values[name, "auc"] = per_step(auc, scores.logits, pairs.label, pairs.step)
        prob = scores.trace.get("prob")
        if prob is not None and world.invariant is not None:
            true = world.invariant[: prob.numel()]
            found = Selection(prob, true, world.step_of_link[: prob.numel()])
            values[name, "precision"] = found.precision
            values[name, "mean_p_invariant"] = found.mean(invariant=True)
            values[name, "mean_p_spurious"] = found.mean(invariant=False)
    return values


def inner_mean(worlds: Worlds, cell: Callable[[Worlds], dict[tuple[str, str], float]]) -> float:
    """Mean AUC on each training domain in turn, left out of training; no test is touched."""
    domains = torch.unique(worlds.train.domain).tolist()
    values = [cell(inner_worlds(worlds, domain))["ood", "auc"] for domain in domains]
    return sum(values) / len(values)


@dataclass(frozen=True)
class Task:
    """One run: a trivial method (no model settings), or a cell of the study.

    Args:
        seed: of the worlds and of training.
        method: catalog name.
        variant: name of the cell.
        values: model settings; None for trivial methods.
        beta: price of a nat.
        train: training settings.
        inner: leave one training domain out instead of testing.
    """

    seed: int
    method: str
    variant: str = ""
    values: Values | None = None
    beta: float = 0.0
    train: TrainConfig = field(default_factory=TrainConfig)
    inner: bool = False

    def run(self, commit: str) -> list[Result]:
        """Do it, on one thread: the processes share the cores."""
        torch.set_num_threads(1)
        began = time.perf_counter()
        worlds = planted(seed=self.seed)
        values = self._values(worlds)
        spent = time.perf_counter() - began
        return [
            Result(
                *("planted", "strict", world, self.method, self.variant, "", self.seed, metric),
                value,
                spent,
                "ok",
                commit,
            )
            for (world, metric), value in values.items()
        ]

    def _values(self, worlds: Worlds) -> dict[tuple[str, str], float]:
        if self.values is None:
            return measure(HEURISTICS[self.method](Dims.of(worlds.train)), worlds)
        settings = self.values

        def cell(one: Worlds) -> dict[tuple[str, str], float]:
            return run_variant(one, settings, self.beta, self.train, self.seed)

        return {("inner", "auc"): inner_mean(worlds, cell)} if self.inner else cell(worlds)


def tasks(seeds: range, *, inner: bool, chosen: str) -> Iterator[Task]:
    """All runs of a study."""
    for seed in seeds:
        if not inner and not chosen:
            for name in HEURISTICS:
                yield Task(seed, name)
        for name, values, beta, config in variants(chosen):
            variant = f"{name}, one training domain left out" if inner else name
            yield Task(seed, "ood-linker", variant, values, beta, config, inner)


def study(out: Path, planned: Iterator[Task], workers: int, commit: str) -> None:
    """Run what the results file does not hold yet; each run is saved when it ends."""
    done = {row.run for row in read_results(out)}
    missing = [
        task
        for task in planned
        if ("planted", "strict", task.method, task.variant, "", str(task.seed)) not in done
    ]
    # Long runs first, so that no worker ends alone.
    missing.sort(key=lambda task: ("pairs" not in task.variant, "all links" in task.variant))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(task.run, commit) for task in missing]):
            rows = future.result()
            append_results(out, rows)
            found = ", ".join(f"{row.world} {row.metric} {row.value:.3f}" for row in rows)
            head = f"seed {rows[0].seed}  {rows[0].method} ({rows[0].variant})"
            sys.stdout.write(f"{head}  {found}  {rows[0].seconds:.0f} s\n")
            sys.stdout.flush()


def main() -> int:
    """Parse, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("docs/results/planted.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--inner", action="store_true", help="leave one training domain out")
    parser.add_argument("--only", default="", help="only variants whose name holds this")
    parser.add_argument("--workers", type=int, default=1, help="processes, one thread each")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    planned = tasks(seeds, inner=options.inner, chosen=options.only)
    try:
        study(options.out, planned, options.workers, current_commit())
    except OODLinkerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
