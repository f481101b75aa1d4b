"""The files of a run folder, and which of them may stand beside which.

    config.toml        resolved, every value
    manifest.json      format, versions, data, seeds, protocol, SHA-256 of each file
    state.safetensors  the last checkpoint, one file that verifies itself
    metrics.jsonl      a line an epoch
    model.safetensors  weights of the best epoch          )
    history/           what scoring new pairs needs       ) once training has ended
    done               written last                       )

Whoever writes holds the lock. Each file is replaced whole, in an order in which a process may be
killed anywhere: an unfinished folder is used through its checkpoint alone, whose metrics were
synced before it, and the hashes of all other files count once `done` stands.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oodlinker import files
from oodlinker.config import read_toml, write_toml
from oodlinker.errors import AlreadyExists, BadConfig, BadFile, BadRun
from oodlinker.train.checkpoint import read_tensors, write_tensors
from oodlinker.train.state import Tensors, TrainState

FORMAT = "oodlinker-run"
VERSION = 1
CONFIG, STATE, MODEL = "config.toml", "state.safetensors", "model.safetensors"
METRICS, HISTORY, DONE = "metrics.jsonl", "history", "done"
_TRAINED = (CONFIG, STATE, MODEL, METRICS)
_OF_FOLDER = ("format", "version", "files", "check")
_RESTORE = "Restore it from a copy, or train again with --force (force=True)."


class RunFiles:
    """A run folder, file by file.

    Args:
        folder: where it stands or shall stand.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @property
    def is_done(self) -> bool:
        """Whether the run ended well."""
        return (self.folder / DONE).exists()

    @property
    def is_begun(self) -> bool:
        """Whether there is a configuration to go on with."""
        return (self.folder / files.MANIFEST).exists() and (self.folder / CONFIG).exists()

    @property
    def has_state(self) -> bool:
        """Whether there is a checkpoint."""
        return (self.folder / STATE).exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the folder's one writer; it is made if need be.

        Raises:
            Locked: another process is.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadFile(
                f"the folder cannot be made ({error.strerror})",
                "Choose another name.",
                where=str(self.folder),
            ) from error
        with files.lock(self.folder):
            files.sweep(self.folder)
            yield

    # ---- begin

    def clear(self, *, force: bool) -> None:
        """Make room for a new run.

        Raises:
            AlreadyExists: a run stands there and `force` is not set; or what stands there is no
                run, which is never removed.
        """
        names = {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        if not self._is_run(names):
            raise AlreadyExists(
                "a folder with other files stands there",
                "Choose another name: only a run folder is replaced.",
                where=str(self.folder),
            )
        if not force and names & {DONE, STATE}:
            remedy = "Choose another name, or replace it with --force (force=True)."
            if DONE not in names:
                remedy = f"Go on with it with --resume (resume=True). {remedy}"
            what = "a finished run" if DONE in names else "an unfinished run"
            raise AlreadyExists(f"{what} stands there already", remedy, where=str(self.folder))
        # `done` goes first and the manifest last, so that a half-cleared folder is known as one.
        for name in sorted(names, key=lambda name: (name != DONE, name == files.MANIFEST, name)):
            files.remove(self.folder / name)

    def _is_run(self, names: set[str]) -> bool:
        """Whether all that stands there came from a run."""
        with suppress(BadFile):
            if files.read_json(self.folder / files.MANIFEST).get("format") == FORMAT:
                return True
        if names <= {CONFIG}:  # killed between its first two files, or empty
            with suppress(BadRun):
                return not names or {"method", "train"} <= self.read_config().keys()
        return CONFIG in names and bool(names & {STATE, DONE})  # its manifest is damaged

    def write_config(self, tree: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write the configuration and the first manifest, which lists the configuration alone."""
        if (self.folder / CONFIG).exists():
            # A change: for a moment no hash is on record, for there are two right ones.
            self._write_manifest(facts, {})
        files.write_text(self.folder / CONFIG, write_toml(tree))
        self._write_manifest(facts, {CONFIG: files.sha256(self.folder / CONFIG)})

    def _write_manifest(self, facts: Mapping[str, Any], hashes: Mapping[str, str]) -> None:
        content = {"format": FORMAT, "version": VERSION, **facts, "files": dict(hashes)}
        content = json.loads(json.dumps(content))  # as a reader will see it
        content["check"] = _check(content)
        files.write_json(self.folder / files.MANIFEST, content)

    def reopen(self) -> None:
        """Take back that the run is done."""
        files.remove(self.folder / DONE)

    # ---- while training

    def append_metrics(self, line: Mapping[str, Any]) -> None:
        """Add the line of an epoch."""
        text = json.dumps(dict(line), ensure_ascii=False, allow_nan=False)
        files.append_text(self.folder / METRICS, text + "\n")

    def write_state(self, state: TrainState) -> None:
        """Replace the checkpoint."""
        files.sync_file(self.folder / METRICS)
        write_tensors(self.folder / STATE, state.to_tensors(), "state", state.scalars())

    def read_state(self) -> TrainState:
        """The last checkpoint.

        Raises:
            BadRun: it is damaged.
        """
        tensors, scalars = read_tensors(self.folder / STATE, "state", _RESTORE)
        return TrainState.from_parts(tensors, scalars)

    def rewind_metrics(self, epochs: int) -> None:
        """Forget the lines of epochs after the checkpoint: they will be run again.

        Raises:
            BadRun: lines before it are missing or damaged.
        """
        path = self.folder / METRICS
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        for number, line in enumerate(lines[:epochs]):
            if not line.endswith(b"\n") or _epoch_of(line) != number:
                raise BadRun(f"line {number + 1} is damaged", _RESTORE, where=str(path))
        if len(lines) < epochs:
            raise BadRun(
                f"it has {len(lines)} lines, the checkpoint stands after {epochs} epochs",
                _RESTORE,
                where=str(path),
            )
        if lines[epochs:]:
            files.write_bytes(path, b"".join(lines[:epochs]))

    # ---- end

    def finish(self, weights: Tensors, facts: Mapping[str, Any]) -> None:
        """Write the model, the hashes of all files, and `done`."""
        if not (self.folder / METRICS).exists():
            files.write_text(self.folder / METRICS, "")
        files.sync_file(self.folder / METRICS)
        write_tensors(self.folder / MODEL, weights, "model", {})
        self._write_manifest(facts, files.hashes(self.folder))
        files.write_text(self.folder / DONE, "")

    def add(self, write: Callable[[Path], None]) -> None:
        """Add reports and figures to a finished run; what training wrote stays as it was hashed.

        Args:
            write: writes files into the folder it is given.
        """
        manifest = self.read_manifest()
        write(self.folder)
        trained = {
            name: digest
            for name, digest in manifest["files"].items()
            if name in _TRAINED or name.startswith(f"{HISTORY}/")
        }
        added = {name: one for name, one in files.hashes(self.folder).items() if name != DONE}
        self._write_manifest(facts_of(manifest), {**added, **trained})

    # ---- read

    def read_manifest(self) -> dict[str, Any]:
        """The manifest, if it is one of a run and of this version.

        Raises:
            BadRun: it is not, or is damaged.
        """
        where = str(self.folder / files.MANIFEST)
        try:
            manifest = files.read_json(self.folder / files.MANIFEST)
        except BadFile as error:
            raise BadRun(error.what, _RESTORE, where=where) from error
        if manifest.get("format") != FORMAT:
            raise BadRun("it is no manifest of a run", "Check the path.", where=where)
        if manifest.get("version") != VERSION:
            raise BadRun(
                f"the run folder has version {manifest.get('version')}, "
                f"this oodlinker reads {VERSION}",
                "Read it with the oodlinker that wrote it, or update oodlinker.",
                where=where,
            )
        if manifest.get("check") != _check(manifest):
            raise BadRun("it is damaged: it does not match its own hash", _RESTORE, where=where)
        return manifest

    def read_config(self) -> dict[str, Any]:
        """The tree of `config.toml`."""
        try:
            return read_toml(self.folder / CONFIG)
        except (BadFile, BadConfig) as error:
            raise BadRun(error.what, _RESTORE, where=str(self.folder / CONFIG)) from error

    def read_weights(self) -> Tensors:
        """The weights of the best epoch."""
        return read_tensors(self.folder / MODEL, "model", _RESTORE)[0]

    def verify(self, manifest: Mapping[str, Any], names: set[str] | None = None) -> None:
        """Compare files to the hashes of the manifest.

        Args:
            manifest: as read.
            names: which files; None for all that it lists.

        Raises:
            BadRun: one is missing, not listed, or does not match.
        """
        listed = manifest["files"]
        for name in sorted(listed if names is None else names):
            path = self.folder / name
            if name not in listed:
                raise BadRun("the manifest does not list it", _RESTORE, where=str(path))
            if not path.is_file():
                raise BadRun("it is missing", _RESTORE, where=str(path))
            if files.sha256(path) != listed[name]:
                raise BadRun("it does not match its hash", _RESTORE, where=str(path))


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest says of the run, without what it says of the folder."""
    return {name: one for name, one in manifest.items() if name not in _OF_FOLDER}


def _check(manifest: Mapping[str, Any]) -> str:
    content = {name: one for name, one in manifest.items() if name != "check"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _epoch_of(line: bytes) -> int | None:
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content.get("epoch") if isinstance(content, dict) else None
