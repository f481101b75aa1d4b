"""A report whose numbers are made by hand."""

from math import nan

from oodlinker.insight.report import EvaluationReport
from oodlinker.insight.standing import Margin, ReportRow


def report_of(
    trained: float, cosine: float = 0.8, repeat: float = 0.6, **changes: object
) -> EvaluationReport:
    """A trained method and two trivial ones, their AUC out of distribution as given."""
    values = {"ood-linker": trained, "neighbour-cosine": cosine, "repeat-link": repeat}
    rows = [
        ReportRow(
            method,
            "default" if method == "ood-linker" else "",
            world,
            metric,
            value + (0.05 if world == "id" else 0) - (0.01 if metric == "ap" else 0),
            0.25,
            trivial=method != "ood-linker",
        )
        for world in ("id", "ood")
        for method, value in values.items()
        for metric in ("auc", "ap")
    ]
    margins = [
        Margin(
            *("ood-linker", "default", rival, world, "auc"),
            trained - values[rival],
            trained - values[rival] - 0.02,
            trained - values[rival] + 0.02,
            0.0 if trained > values[rival] else 1.0,
        )
        for world in ("id", "ood")
        for rival in ("neighbour-cosine", "repeat-link")
    ]
    plain = {"data": "by hand", "held_out": "Data Mining", "seed": 3, "draws": 1000}
    return EvaluationReport(tuple(rows), tuple(margins), **{**plain, **changes})  # type: ignore[arg-type]


def deployed_report() -> EvaluationReport:
    """All metrics of the ranking protocol; one is not defined."""
    values = {"mrr": 0.3, "hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.5, "auc": 0.9, "ap": nan}
    rows = [
        ReportRow(method, "", world, metric, value, 1.0, trivial=method == "recency")
        for method in ("ood-linker", "recency")
        for world in ("id", "ood")
        for metric, value in values.items()
    ]
    return EvaluationReport(tuple(rows), protocol="deployed")
