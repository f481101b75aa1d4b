"""Which column says what: as the user names them, else guessed from common names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from oodlinker.errors import BadColumn

FEATURE_PREFIX = "feat_"
# In the order of preference; compared without regard to case, blanks and hyphens.
COMMON_NAMES: dict[str, tuple[str, ...]] = {
    "src": (
        *("src", "source", "from", "u", "src_id", "source_id", "from_id", "from_node", "node1"),
        *("node_1", "id1", "i", "head", "user", "user_id", "userid", "author", "author_id"),
        *("author1", "author_1", "sender", "customer", "customer_id", "person", "citing", "who"),
        *("follower", "reviewer", "a"),
    ),
    "dst": (
        *("dst", "target", "to", "v", "destination", "dst_id", "target_id", "to_id", "to_node"),
        *("dest", "node2", "node_2", "id2", "j", "tail", "item", "item_id", "itemid", "coauthor"),
        *("coauthor_id", "author2", "author_2", "receiver", "recipient", "product", "product_id"),
        *("movie", "movie_id", "movieid", "film", "business_id", "cited", "followee", "whom", "b"),
    ),
    "time": (
        *("time", "timestamp", "ts", "t", "date", "datetime", "year", "when", "unixtime", "epoch"),
        *("created_at", "unix_time", "month", "day", "step", "snapshot"),
    ),
    "domain": (
        *("domain", "field", "category", "label", "type", "kind", "topic", "venue", "genre"),
        *("class", "community", "relation", "rel"),
    ),
    "id": ("id", "node", "node_id", "nodeid", "name", "key"),
    "side": ("side",),
    "document": (
        *("document", "document_id", "doc", "doc_id", "paper", "paper_id", "ticket", "ticket_id"),
        *("post", "post_id", "id", "node", "node_id", "key"),
    ),
    "authors": ("authors", "author_ids", "author_id", "author", "users", "user_ids", "people"),
    "text": ("title", "abstract", "text", "body", "summary", "description"),
}
_MEANING = {
    "src": "the source of a link",
    "dst": "the target of a link",
    "time": "the time of a link",
    "id": "the id of a node",
    "document": "the id of a document",
    "authors": "the authors of a document",
}
_OPTIONS = {"id": "node-id"}
_ARGUMENTS = {"id": "node_id"}
_OF_DOCUMENTS = {"document": "id", "authors": "authors"}


@dataclass(frozen=True)
class Roles:
    """The columns of a source that are read.

    Args:
        names: column of each role (src, dst, time, domain, invariant, or id, side).
        features: columns that are features, in their order.
        guessed: the roles whose columns were guessed.
    """

    names: Mapping[str, str]
    features: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        return tuple(dict.fromkeys([*self.names.values(), *self.features]))

    def __str__(self) -> str:
        parts = [
            f'{role} = "{name}"{" (guessed)" if role in self.guessed else ""}'
            for role, name in self.names.items()
        ]
        features = f"; features: {', '.join(self.features)}" if self.features else ""
        return ", ".join(parts) + features

    def check(self, columns: Sequence[str], where: str) -> None:
        """See that a source has all these columns.

        Raises:
            BadColumn: one is missing.
        """
        for name in self.columns:
            if name not in columns:
                raise _missing(name, columns, where)


def choose_roles(
    columns: Sequence[str],
    given: Mapping[str, str | None],
    features: Sequence[str],
    *,
    optional: Sequence[str] = (),
    where: str = "",
) -> Roles:
    """Find the column of each role.

    Args:
        columns: the columns that there are.
        given: column that the user names for each role; None to guess it, empty for none.
        features: feature columns that the user names; empty for all that begin with `feat_`.
        optional: roles that need not be there.
        where: the file, for errors.

    Raises:
        BadColumn: a named column does not exist, or none or several look like a needed role.
    """
    for name in [*filter(None, given.values()), *features]:
        if name not in columns:
            raise _missing(name, columns, where)
    named_roles = [name for name in given.values() if name]
    for name in named_roles:
        if named_roles.count(name) > 1:
            roles_of = " and ".join(role for role, one in given.items() if one == name)
            raise BadColumn(
                f'column "{name}" is named for {roles_of}.', "Name one for each.", where=where
            )
    names: dict[str, str] = {}
    guessed: list[str] = []
    taken = {name for name in given.values() if name} | set(features)
    for role, named in given.items():
        if named == "":
            continue
        found = named or _guess(role, [one for one in columns if one not in taken], where)
        if found is None:
            if role not in optional:
                raise _unguessed(role, columns, where)
            continue
        names[role] = found
        taken.add(found)
        if named is None:
            guessed.append(role)
    listed = tuple(dict.fromkeys(features)) or _prefixed(columns, tuple(names.values()))
    return Roles(names, listed, tuple(guessed))


def _prefixed(columns: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    found = (one for one in columns if one.startswith(FEATURE_PREFIX) and one not in taken)
    return tuple(dict.fromkeys(found))


def _guess(role: str, columns: Sequence[str], where: str) -> str | None:
    plain: dict[str, list[str]] = {}
    for column in dict.fromkeys(columns):
        plain.setdefault(column.strip().lower().replace(" ", "_").replace("-", "_"), []).append(
            column
        )
    for common in COMMON_NAMES.get(role, ()):
        found = plain.get(common, [])
        if len(found) > 1:
            listed = " and ".join(f'"{one}"' for one in found)
            raise BadColumn(f"{listed} both look like {role}.", _naming(role), where=where)
        if found:
            return found[0]
    return None


def _unguessed(role: str, columns: Sequence[str], where: str) -> BadColumn:
    return BadColumn(
        f"no column looks like {_MEANING.get(role, role)}; there are {_listed(columns)}.",
        f"{_naming(role)} A file without a header needs --columns (columns=[...]).",
        where=where,
    )


def _missing(name: str, columns: Sequence[str], where: str) -> BadColumn:
    near = get_close_matches(name, columns, n=1)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    return BadColumn(
        f'there is no column "{name}".{hint}', f"The file has {_listed(columns)}.", where=where
    )


def _naming(role: str) -> str:
    if role in _OF_DOCUMENTS:
        return f'Name it: DocumentTable(source, {_OF_DOCUMENTS[role]}="NAME").'
    return f"Name it with --{_OPTIONS.get(role, role)} NAME ({_ARGUMENTS.get(role, role)}=...)."


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(f'"{one[:40]}"' for one in columns[:20])
    return shown + (", ..." if len(columns) > 20 else "")
