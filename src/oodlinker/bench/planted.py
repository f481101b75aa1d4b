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
from dataclasses import dataclass
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
from oodlinker.models.contract import Context, Dims, LinkModel
from oodlinker.models.heuristics import HEURISTICS
from oodlinker.objectives.bottleneck import Bottleneck
from oodlinker.train.config import TrainConfig
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
    model.eval()
    for name, world, pairs in places:
        with torch.no_grad():
            scores = model.rollout(world, world.queries(pairs), Context())
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


def trivial(worlds: Worlds) -> Iterator[tuple[str, dict[tuple[str, str], float], float]]:
    """All methods without parameters."""
    dims = Dims.of(worlds.train)
    for name, make in HEURISTICS.items():
        began = time.perf_counter()
        yield name, measure(make(dims), worlds), time.perf_counter() - began


@dataclass(frozen=True)
class Record:
    """The results file, as one seed of the study writes it."""

    out: Path
    seed: int
    commit: str
    done: set[tuple[str, ...]]

    def holds(self, method: str, variant: str) -> bool:
        """Whether a run is in the file already."""
        return ("planted", "strict", method, variant, "", str(self.seed)) in self.done

    def save(
        self, method: str, variant: str, values: Mapping[tuple[str, str], float], spent: float
    ) -> None:
        """Append a run, unless it is there."""
        if self.holds(method, variant):
            return
        rows = []
        for (world, metric), value in values.items():
            head = ("planted", "strict", world, method, variant, "", self.seed, metric)
            rows.append(Result(*head, value, spent, "ok", self.commit))
        append_results(self.out, rows)
        text = ", ".join(f"{row.world} {row.metric} {row.value:.3f}" for row in rows)
        sys.stdout.write(f"seed {self.seed}  {method} ({variant})  {text}  {spent:.0f} s\n")
        sys.stdout.flush()


def study(out: Path, seeds: range, *, inner: bool, chosen: str, commit: str) -> None:
    """Run what the results file does not hold yet."""
    done = {row.run for row in read_results(out)}
    for seed in seeds:
        worlds = planted(seed=seed)

        record = Record(out, seed, commit, done)
        if not inner and not chosen:
            for name, values, spent in trivial(worlds):
                record.save(name, "", values, spent)
        for name, settings, beta, config in variants(chosen):
            variant = f"{name}, one training domain left out" if inner else name
            if record.holds("ood-linker", variant):
                continue
            began = time.perf_counter()
            if inner:
                value = inner_mean(
                    worlds,
                    lambda one: run_variant(one, settings, beta, config, seed),  # noqa: B023
                )
                found = {("inner", "auc"): value}
            else:
                found = run_variant(worlds, settings, beta, config, seed)
            record.save("ood-linker", variant, found, time.perf_counter() - began)


def main() -> int:
    """Parse, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("docs/results/planted.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--inner", action="store_true", help="leave one training domain out")
    parser.add_argument("--only", default="", help="only variants whose name holds this")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    try:
        study(options.out, seeds, inner=options.inner, chosen=options.only, commit=current_commit())
    except OODLinkerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
