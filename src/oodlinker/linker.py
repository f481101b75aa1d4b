"""Linker: the front door. fit, evaluate, predict, save and load, over rooms usable alone."""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oodlinker import catalog
from oodlinker.data.store import load_graph, save_graph
from oodlinker.errors import BadConfig, BadGraph, NotFitted
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import Worlds
from oodlinker.infer.origin import HISTORY_KEY, check_worlds, origin_facts, source_of, with_graph
from oodlinker.infer.pairs import ends_of
from oodlinker.infer.session import Session, check_dims
from oodlinker.infer.threads import used_threads
from oodlinker.insight.evaluation import evaluate_beside
from oodlinker.insight.report import EvaluationReport
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.in_memory import Trained, train_in_memory, write_run
from oodlinker.train.run_config import RunConfig
from oodlinker.train.run_folder import HistoryWriter, Run, read_run, train_run

Table = Mapping[str, Any]
DRAWS, FEWEST_DRAWS = 1000, 100
RESAMPLED = 1_000_000_000  # pairs that are drawn again, over all draws


class Linker:
    """A method of temporal link prediction, from training to scores.

        linker = Linker("ood-linker", seed=0).fit(worlds)
        print(linker.evaluate(worlds))
        linker.predict([("ann", "bob"), ("ann", "zoe")], at=2006)

    Args:
        method: a name of `oodlinker.methods()`, or a module of your own that keeps the contract
            (`oodlinker.testing.check_method`); of a module, a copy is trained.
        preset: values that lie under yours.
        seed: of everything random.
        run_dir: a run folder to train into, which can be resumed; None to train in memory.
        model: values of the method's `Config`.
        objective: "name" and values of the objective.
        train: values of `TrainConfig`.
        threads: CPU threads of every call; None takes one for small graphs, else torch's setting.

    Attributes:
        model_: the trained method, with the weights of its best epoch.
        history_: all known links, which predictions are made from; None where the worlds were
            not cut from a graph.
        epochs_: what each epoch gave, as in `metrics.jsonl`.
        best_epoch_: the epoch with the best in-distribution validation AUC; None when nothing
            was trained.
        best_valid_auc_: that AUC.
        manifest_: versions, data, protocol and seeds, as in `manifest.json`.

    Raises:
        BadMethod: there is no such method.
        BadConfig: an unknown key or preset, or a value of another type.
    """

    model_: LinkModel
    history_: TemporalGraph | None
    epochs_: list[dict[str, Any]]
    best_epoch_: int | None
    best_valid_auc_: float | None
    manifest_: dict[str, Any]

    def __init__(
        self,
        method: str | LinkModel = "ood-linker",
        *,
        preset: str = catalog.DEFAULT_PRESET,
        seed: int = 0,
        run_dir: Path | str | None = None,
        model: Table | None = None,
        objective: Table | None = None,
        train: Table | None = None,
        threads: int | None = None,
    ) -> None:
        tables = {"model": model, "objective": objective, "train": train}
        given = {name: table for name, table in tables.items() if table}
        if threads is not None and threads < 1:
            raise BadConfig(f"threads = {threads} is less than 1")
        self.method = method
        self.run_dir = None if run_dir is None else Path(run_dir)
        self.threads = threads
        self.config = RunConfig.resolve(method, {"preset": preset, "seed": seed, **given})
        # A run that is gone on with keeps its own seed and preset unless others are asked for.
        asked: Table = {"preset": preset} if preset != catalog.DEFAULT_PRESET else {}
        self._asked = {**asked, **({"seed": seed} if seed else {}), **given}
        self._session: Session | None = None

    def __repr__(self) -> str:
        fitted = "fitted" if "model_" in vars(self) else "not fitted"
        return f"Linker({self.config.method!r}, seed={self.config.seed}, {fitted})"

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_"):
            raise NotFitted(f"{name} is there once the linker is fitted", "Call fit(worlds) first.")
        raise AttributeError(f"a Linker has no attribute {name!r}")

    # ---- fit

    def fit(
        self, worlds: Worlds, *, resume: bool = False, force: bool = False, source: str = ""
    ) -> "Linker":
        """Train on the training world; its test steps and the shifted world are not looked at.

        Args:
            worlds: as `hold_out` or `planted` make them.
            resume: go on with the run that stands in `run_dir`, bit for bit.
            force: replace the run that stands there.
            source: what the data are called, for the manifest and for tables.

        Returns:
            Itself.

        Raises:
            AlreadyExists: a run stands in `run_dir`, and neither `resume` nor `force` is set.
            BadConfig: `resume` without `run_dir`.
            Interrupted: Ctrl-C or SIGTERM; what `run_dir` holds can be resumed.
            NotEnoughMemory: training cannot fit this machine.
            TrainingDiverged: the loss is no longer finite.
        """
        if self.run_dir is None and (resume or force):
            raise BadConfig(
                "resume and force are about a run folder, and there is none",
                "Name one: Linker(..., run_dir='run').",
            )
        worlds = with_graph(worlds)
        facts = origin_facts(worlds, source=source)
        with used_threads(self.threads, worlds.train.src.numel()):
            if self.run_dir is None:
                done = train_in_memory(self._method(), worlds, self.config, facts=facts)
                self._take(done, worlds.graph)
            else:
                run = train_run(
                    self.run_dir,
                    self._method(),
                    worlds,
                    config=self._asked,
                    resume=resume,
                    force=force,
                    facts=facts,
                    history_writer=_history_writer(worlds.graph),
                )
                self._take_run(run, worlds.graph)
        return self

    def _method(self) -> str | LinkModel:
        # A second fit begins where the first one did.
        return self.method if isinstance(self.method, str) else copy.deepcopy(self.method)

    def _take_run(self, run: Run, history: TemporalGraph | None) -> None:
        facts = {key: one for key, one in run.manifest.items() if key not in _OF_THE_FOLDER}
        self.config = run.config
        self._take(Trained(run.model, run.metrics, facts), history)

    def _take(self, done: Trained, history: TemporalGraph | None) -> None:
        best = done.metrics[-1]["best_epoch"] if done.metrics else -1
        self.model_ = done.model
        self.history_ = history
        self.epochs_ = done.metrics
        self.best_epoch_ = None if best < 0 else best
        self.best_valid_auc_ = None if best < 0 else done.metrics[best]["valid_auc"]
        self.manifest_ = done.facts
        self._session = None

    # ---- use

    def evaluate(self, worlds: Worlds, *, draws: int | None = None) -> EvaluationReport:
        """Score the stored test pairs in and out of distribution, trivial methods beside.

        Args:
            worlds: the worlds trained on, or others of the same protocol.
            draws: of the paired bootstrap; None for 1,000, or fewer where pairs are very many.

        Raises:
            BadGraph: their features or links are of another kind.
            BadProtocol: they are of another protocol, or their tests hold what was trained on.
            NotFitted: there is nothing to evaluate yet.
        """
        self._check_fitted("evaluate")
        check_worlds(self.manifest_, worlds)
        check_dims(self.model_.dims, Dims.of(worlds.train))
        trains = self.model_.spec.trains
        with used_threads(self.threads, worlds.train.src.numel()):
            return evaluate_beside(
                self.model_,
                worlds,
                name=self.config.method,
                seed=self.config.seed,
                variant=self.config.variant if trains else "",
                data=source_of(self.manifest_),
                draws=_draws(worlds) if draws is None else draws,
            )

    def predict(self, pairs: Iterable[Any], at: object = None) -> list[float]:
        """Probability of each pair to link at a time, from all links known before; not calibrated.

        Args:
            pairs: (id, id) each, or an array of two columns; nodes never seen have no past.
            at: raw time, ISO date, or date of Python, numpy or pandas; None for the step after
                the last known link.

        Raises:
            BadId: an id cannot be one of this graph.
            BadTime: `at` is no time of this graph, or nothing is known before it.
            NotFitted: there is nothing to predict with yet.
        """
        src, dst = ends_of(pairs)
        session = self.session()
        with used_threads(self.threads, len(session.history)):
            probs: list[float] = session.prob(src, dst, at).tolist()
        return probs

    def session(self) -> Session:
        """What scores pairs: the trained method and all known links."""
        self._check_fitted("predict")
        if self._session is None:
            known = self.manifest_.get(HISTORY_KEY)
            if self.history_ is None or known is None:
                raise BadGraph(
                    "the worlds were not cut from a graph with times: there is no history to "
                    "predict from",
                    "Make them with hold_out(graph, ...).",
                )
            grid = StepGrid.from_dict(known["grid"])
            self._session = Session(self.model_, self.history_, grid, known["fitted"])
        return self._session

    # ---- keep

    def save(self, folder: Path | str, *, force: bool = False) -> None:
        """Write a run folder, which `load` and the command line read; nothing else is needed.

        Raises:
            AlreadyExists: something stands there and `force` is not set, or it is no run folder.
            NotFitted: there is nothing to save yet.
        """
        self._check_fitted("save")
        done = Trained(self.model_, self.epochs_, self.manifest_)
        write_run(folder, done, self.config, _history_writer(self.history_), force=force)

    @classmethod
    def load(
        cls, folder: Path | str, *, method: LinkModel | None = None, threads: int | None = None
    ) -> "Linker":
        """Read a run folder, as `save` and training write it.

        Args:
            folder: the run folder.
            method: for a method of your own: a module like the one that was trained.
            threads: CPU threads of every call.

        Raises:
            BadGraph: its history is damaged.
            BadRun: there is none, it is not finished, damaged, or of a method that is not given.
        """
        run = read_run(folder, model=copy.deepcopy(method))
        tree = run.config.to_mapping()
        linker = cls(
            run.config.method if method is None else method,
            preset=tree["preset"],
            seed=tree["seed"],
            model=tree["model"],
            objective=tree["objective"],
            train=tree["train"],
            threads=threads,
        )
        stands = run.history.is_dir()
        linker._take_run(run, load_graph(run.history, verify=True) if stands else None)
        return linker

    # ---- checks

    def _check_fitted(self, verb: str) -> None:
        if "model_" not in vars(self):
            raise NotFitted(
                f"there is nothing to {verb} with yet", "Call fit(worlds) first, or Linker.load."
            )


_OF_THE_FOLDER = ("format", "version", "files", "check")


def _draws(worlds: Worlds) -> int:
    """So many draws of the bootstrap that it takes a minute or two at most on small machines."""
    pairs = len(worlds.test_pairs) + (len(worlds.shifted_pairs) if worlds.shifted else 0)
    return max(FEWEST_DRAWS, min(DRAWS, RESAMPLED // max(pairs, 1)))


def _history_writer(graph: TemporalGraph | None) -> HistoryWriter | None:
    def write(folder: Path) -> None:
        assert graph is not None
        save_graph(graph, folder)

    return None if graph is None else write
