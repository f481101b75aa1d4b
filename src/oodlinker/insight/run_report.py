"""The `report.html` of a run folder: settings, data, training, and scores where there are any."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oodlinker import files
from oodlinker.config import write_toml
from oodlinker.insight.draw_curves import draw_training
from oodlinker.insight.draw_scores import draw_scores
from oodlinker.insight.page import code, figure, page, paragraph, section
from oodlinker.insight.report import NOT_CALIBRATED, EvaluationReport
from oodlinker.insight.tables import Table, fraction
from oodlinker.train.run_folder import Run

PAGE, TRAINING, SCORES = "report.html", "training.png", "scores.png"
_FACTS = {
    "method": "method",
    "protocol": "protocol",
    "held_out": "held-out domain",
    "split": "steps that train, validate, test",
    "pair_source": "training pairs",
    "seed": "seed",
    "data_seed": "seed of the data",
    "threads": "threads",
}


def write_run_report(run: Run, report: EvaluationReport | None = None) -> Path:
    """Write `report.html` and its figures into a finished run folder, in place of older ones.

    Args:
        run: a finished run; its folder must not be locked.
        report: its scores, if it was evaluated.

    Returns:
        Where the page stands.

    Raises:
        Locked: another process is writing the folder.
    """
    with files.lock(run.folder):
        sections = [*_training(run), *_scores(run.folder, report), *_settings(run)]
        title = f"Run of {run.config.method}"
        files.write_text(
            run.folder / PAGE, page(title, [run.folder.name, NOT_CALIBRATED], sections)
        )
    return run.folder / PAGE


def _training(run: Run) -> Iterator[str]:
    epochs = run.metrics
    if not epochs:
        yield section("Training", paragraph("This method has no parameters: nothing was trained."))
        return
    drawing = draw_training(epochs)
    drawing.save(run.folder / TRAINING)
    yield section("Training", paragraph(_story(epochs)), figure(drawing, _CAPTION))


def _story(epochs: list[dict[str, Any]]) -> str:
    best = epochs[-1]["best_epoch"]
    seconds = sum(one["seconds"] for one in epochs)
    told = f"{len(epochs)} epochs took {seconds:.1f} s."
    values = {one["epoch"]: one["valid_auc"] for one in epochs if one["valid_auc"] is not None}
    if best not in values:
        return f"{told} Nothing was validated: the weights of the last epoch are kept."
    kept = f"The weights of epoch {best} are kept: its validation AUC, {fraction(values[best])}"
    return f"{told} {kept} in distribution, is the best."


_CAPTION = (
    "Training by epoch. Which epoch is kept is decided by validation in distribution; nothing of "
    "a test step or of the held-out domain takes part."
)


def _scores(folder: Path, report: EvaluationReport | None) -> Iterator[str]:
    if report is None:
        text = "This run was not evaluated when this page was written. oodlinker evaluate does it."
        yield section("Scores", paragraph(text))
        return
    drawing = draw_scores(report)
    drawing.save(folder / SCORES)
    caption = "The trained method beside methods that learn nothing (grey)."
    yield section("Scores", paragraph(report.title), report.to_html(), figure(drawing, caption))


def _settings(run: Run) -> Iterator[str]:
    manifest = run.manifest
    rows = [(title, _shown(manifest[key])) for key, title in _FACTS.items() if key in manifest]
    rows += [(name, _shown(value)) for name, value in manifest.get("versions", {}).items()]
    rows += [(name, _shown(value)) for name, value in manifest.get("notes", {}).items()]
    table = Table("What the run was made of.", ("what", "value"), tuple(rows), numeric=2)
    yield section("Data and protocol", table.to_html())
    yield section("Configuration", code(write_toml(run.config.to_mapping())))


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return " / ".join(map(str, value))
    return (
        ", ".join(f"{key} {one}" for key, one in value.items())
        if isinstance(value, Mapping)
        else str(value)
    )
