"""What a trained method scores, always beside the methods that learn nothing."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from html import escape
from math import isfinite, nan
from typing import Any

from oodlinker.errors import BadFile, MissingExtra
from oodlinker.graph.metrics import PROTOCOL_METRICS
from oodlinker.graph.temporal import Label
from oodlinker.graph.worlds import ProtocolName
from oodlinker.insight import report_text
from oodlinker.insight.standing import Margin, ReportRow, Standing
from oodlinker.insight.tables import Table, wrapped

RESULT_COLUMNS = (
    "data",
    "protocol",
    "world",
    "method",
    "variant",
    "shift",
    "seed",
    "metric",
    "value",
    "seconds",
    "status",
    "commit",
)
NOT_CALIBRATED = (
    "Scores are not yet calibrated: they say which pair is likelier, not how likely it is."
)


@dataclass(frozen=True)
class EvaluationReport:
    """Scores in and out of distribution, the trivial methods beside the trained ones.

    Args:
        rows: one metric of one method in one world each.
        margins: trained methods against trivial ones.
        protocol: how pairs, features and history were made.
        data: name of the data.
        held_out: the held-out domain; None where none is.
        seed: of the trained methods.
        draws: of the bootstrap.
        notes: sentences that belong to every reading of the numbers.
    """

    rows: tuple[ReportRow, ...]
    margins: tuple[Margin, ...] = ()
    protocol: ProtocolName = "strict"
    data: str = ""
    held_out: Label | None = None
    seed: int = 0
    draws: int = 0
    notes: tuple[str, ...] = (NOT_CALIBRATED,)

    # ---- reading it

    @cached_property
    def standing(self) -> Standing:
        """The numbers, and questions to them."""
        return Standing(self.rows, self.margins, PROTOCOL_METRICS[self.protocol][0])

    def value(
        self, method: str, variant: str = "", *, world: str = "ood", metric: str = ""
    ) -> float:
        """One number, by default of the protocol's first metric; nan where there is none."""
        return self.standing.value(method, variant, world, metric)

    def verdicts(self) -> list[str]:
        """A sentence for each trained method; those that a trivial one beats come first."""
        return report_text.verdicts(self.standing)

    def tables(self) -> list[Table]:
        """The scores, and the margins where there are any."""
        tables = [
            report_text.score_table(self.standing),
            report_text.margin_table(self.standing, self.draws),
        ]
        return [table for table in tables if table.rows]

    @property
    def title(self) -> str:
        """Data, protocol, held-out domain and seed in one line."""
        parts = [self.data] if self.data else []
        parts.append(f"protocol {self.protocol}")
        if self.held_out is not None:
            parts.append(f"held-out domain {self.held_out}")
        return ", ".join([*parts, f"seed {self.seed}"])

    # ---- showing it

    def __str__(self) -> str:
        sentences = [wrapped(text) for text in (self.title, *self.verdicts())]
        tables = [table.to_text() for table in self.tables()]
        notes = [wrapped(note) for note in self.notes]
        return "\n\n".join([*sentences, *tables, *notes])

    def _repr_html_(self) -> str:
        head = f"<style>{_STYLE}</style><p>{escape(self.title)}</p>"
        return f'<section class="oodlinker-report">{head}{self.to_html()}</section>'

    def to_html(self) -> str:
        """Sentences, tables and notes without any style, for a page that has its own."""
        sentences = "".join(f"<li>{escape(text)}</li>" for text in self.verdicts())
        tables = "".join(table.to_html() for table in self.tables())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"{f'<ul>{sentences}</ul>' if sentences else ''}{tables}{notes}"

    def to_markdown(self) -> str:
        """Title, sentences, tables and notes."""
        tables = [table.to_markdown() for table in self.tables()]
        return "\n\n".join([f"**{self.title}**", *self.verdicts(), *tables, *self.notes]) + "\n"

    # ---- handing it on

    def to_rows(self, *, shift: str = "", commit: str = "") -> list[dict[str, Any]]:
        """One mapping a row, with the columns of a results file.

        Args:
            shift: strength of a node shift, where there is one.
            commit: of the code that made the numbers.
        """
        head = {"data": self.data, "protocol": self.protocol, "shift": shift, "seed": self.seed}
        rows = [
            {
                **head,
                **asdict(row),
                "status": "ok" if isfinite(row.value) else "failed",
                "commit": commit,
            }
            for row in self.rows
        ]
        return [{column: row[column] for column in RESULT_COLUMNS} for row in rows]

    def to_frame(self) -> Any:
        """`to_rows` as a pandas DataFrame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtra(
                "a frame needs pandas, which is not installed",
                "Install it (pip install pandas), or use to_rows().",
            ) from None
        return pandas.DataFrame(self.to_rows(), columns=list(RESULT_COLUMNS))

    def to_json(self) -> str:
        """All that the report holds; `from_json` reads it."""
        content = _null_for_nan({**asdict(self), "verdicts": self.verdicts()})
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "EvaluationReport":
        """The report that `to_json` wrote.

        Raises:
            BadFile: the text holds no report.
        """
        try:
            content = json.loads(text)
            told = {one.name: content[one.name] for one in fields(cls)}
            told["rows"] = tuple(ReportRow(**_nan_for_null(row)) for row in content["rows"])
            told["margins"] = tuple(Margin(**_nan_for_null(row)) for row in content["margins"])
            return cls(**{**told, "notes": tuple(content["notes"])})
        except (ValueError, KeyError, TypeError) as error:
            raise BadFile(f"the text holds no report ({error})", "Evaluate again.") from error


def _null_for_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _null_for_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_null_for_nan(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _nan_for_null(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: nan if value is None else value for name, value in row.items()}


_STYLE = (
    ".oodlinker-report .scroll{overflow-x:auto}"
    ".oodlinker-report table{border-collapse:collapse;margin:.5em 0}"
    ".oodlinker-report figure{margin:1em 0}"
    ".oodlinker-report th,.oodlinker-report td{padding:.2em .7em;text-align:left}"
    ".oodlinker-report .number{text-align:right;font-variant-numeric:tabular-nums}"
    ".oodlinker-report .strong{font-weight:bold}"
)
