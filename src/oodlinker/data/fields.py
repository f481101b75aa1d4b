"""The kinds of fields that rows have: how SQL reads each, and what makes one bad."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from math import isfinite

from oodlinker.data.columns import Roles
from oodlinker.data.scans import Scan
from oodlinker.data.staging import Check
from oodlinker.data.times import Times


def link_columns(scan: Scan, roles: Roles) -> str:
    """SQL of the staged columns of a link, its time still as text."""
    names = roles.names
    parts = [
        f"{scan.identity(names['src'])} AS src",
        f"{scan.identity(names['dst'])} AS dst",
        f"{scan.value(names['time'])} AS time_text",
    ]
    if "domain" in names:
        parts.append(f"{scan.label(names['domain'])} AS domain")
    if "invariant" in names:
        parts.append(f"TRY_CAST({scan.value(names['invariant'])} AS BOOLEAN) AS invariant")
    return ", ".join(parts) + feature_columns(scan, roles)


def link_checks(roles: Roles, times: Times) -> list[Check]:
    """What every staged link must have."""
    names = roles.names
    checks = [
        id_check(names["src"], "src"),
        id_check(names["dst"], "dst"),
        time_check(names["time"], times),
    ]
    if "domain" in names:
        checks.append(Check(names["domain"], "domain IS NULL", lambda _: "is not a label"))
    if "invariant" in names:
        checks.append(
            Check(names["invariant"], "invariant IS NULL", lambda _: "is neither true nor false")
        )
    return [*checks, *feature_checks(roles)]


def feature_columns(scan: Scan, roles: Roles) -> str:
    """SQL of the feature columns f0, f1, ... of a scan, each after a comma.

    Every door goes through double precision, so that a number gives the same float32 whether it
    came as text or not; adding zero makes -0.0 the same feature as 0.0.
    """
    return "".join(
        f", TRY_CAST({scan.number(name)} + 0.0 AS FLOAT) AS f{place}"
        for place, name in enumerate(roles.features)
    )


def feature_checks(roles: Roles) -> list[Check]:
    """Features must be finite numbers."""
    return [
        Check(
            name,
            f"f{place} IS NULL OR NOT isfinite(f{place})",
            lambda _: "is not a finite number of 32 bits",
        )
        for place, name in enumerate(roles.features)
    ]


def id_check(name: str, column: str) -> Check:
    """An id must be there; one with a NUL character would be cut short by other programs."""
    return Check(
        name,
        f"{column} IS NULL OR contains({column}, chr(0))",
        lambda text: "holds a NUL character" if "\x00" in text else "is not an id",
    )


def time_check(name: str, times: Times) -> Check:
    """A time must be there, of the kind that most rows have."""
    return Check(name, f"NOT ({times.good})", _time_reason(times.dates), about_time=True)


def _time_reason(dates: bool) -> Callable[[str], str]:
    """Say why a text is not a time of the kind that most rows have."""

    def reason(text: str) -> str:
        with suppress(ValueError):
            if not isfinite(float(text)):
                return "is not finite"
            return "is a number where most times are dates" if dates else "is not a time"
        with suppress(ValueError):
            datetime.fromisoformat(text)
            return "is not a time" if dates else "is a date where most times are numbers"
        return "is not a time"

    return reason
