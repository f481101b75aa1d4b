"""The only writer of files: everything appears whole or not at all.

A file or folder is written under a temporary name beside its target, synced and renamed. A process
that is killed leaves at most a temporary, which the next writer of the same target removes.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oodlinker.errors import AlreadyExists, BadFile, Locked

MANIFEST = "manifest.json"
_CHUNK = 1 << 20


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Replace a file atomically and durably."""
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise _unwritable(path, error) from error
    sync_folder(path.parent)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Fill a file under a temporary name; it replaces `target` when the block ends well.

    Raises:
        BadFile: it cannot be written there.
    """
    temporary = _temporary(target)
    try:
        _remove_leftovers(target)
        yield temporary
        _sync_path(temporary)
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise _unwritable(target, error) from error
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def write_text(path: Path, content: str) -> None:
    """Replace a text file atomically and durably."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a JSON file atomically and durably."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        BadFile: the file is missing, unreadable or holds no JSON object.
    """
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise BadFile("there is no such file", "Check the path.", where=str(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(
            f"not readable as JSON ({error})", "Make it anew.", where=str(path)
        ) from error
    if not isinstance(content, dict):
        raise BadFile("holds no JSON object", "Make it anew.", where=str(path))
    return content


@contextmanager
def new_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Fill a folder under a temporary name; it appears at `target` when the block ends well.

    Args:
        target: where the folder shall stand.
        force: replace what stands there.

    Raises:
        AlreadyExists: something stands there and `force` is not set.
    """
    target = Path(target)
    check_free(target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        temporary = _temporary(target)
        temporary.mkdir()
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        yield temporary
        for path in sorted(temporary.rglob("*")):
            _sync_path(path)
        _sync_path(temporary)
        if target.exists():
            replaced = target.with_name(f".{target.name}.old-{os.getpid()}")
            target.rename(replaced)
            temporary.rename(target)
            _remove(replaced)
        else:
            temporary.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _unwritable(target, error) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def check_free(target: Path, *, force: bool) -> None:
    """Refuse to overwrite.

    Raises:
        AlreadyExists: something stands at `target` and `force` is not set.
    """
    if not force and target.exists():
        raise AlreadyExists(
            "something stands there already",
            "Choose another name, or replace it with --force (force=True).",
            where=str(target),
        )


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder but its manifest, by name.

    Hidden files (locks, temporaries) are left out; manifests of inner folders are not.
    """
    inner = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        path.as_posix(): sha256(folder / path)
        for path in inner
        if path != Path(MANIFEST) and not any(part.startswith(".") for part in path.parts)
    }


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `manifest.json`: the facts, and the SHA-256 of every other file of the folder."""
    write_json(folder / MANIFEST, {**facts, "files": hashes(folder)})


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold the one writer's place of a folder; the system frees it when the process ends.

    Raises:
        Locked: another process holds it.
    """
    path = folder / ".lock"
    try:
        handle = path.open("a+")
    except OSError as error:
        raise _unwritable(path, error) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise _unwritable(path, error) from error
            raise Locked(
                "another process is writing this folder",
                "Wait until it ends, or choose another folder.",
                where=str(folder),
            ) from None
        yield


def append_text(path: Path, text: str) -> None:
    """Add to the end of a log; a killed process leaves at most a part of its last line.

    It is durable only after `sync_file`.
    """
    try:
        with path.open("a", encoding="utf-8") as handle:
            handle.write(text)
    except OSError as error:
        raise _unwritable(path, error) from error


def sync_file(path: Path) -> None:
    """Make what was appended to a log durable."""
    _sync_path(path)


def remove(path: Path) -> None:
    """Remove a file or folder, durably; it may be gone already."""
    try:
        _remove(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path, error) from error
    sync_folder(path.parent)


def sweep(folder: Path) -> None:
    """Remove the temporaries that killed writers left in a folder."""
    for path in folder.glob(".*.tmp-*"):
        owner = path.name.rpartition("-")[2]
        if owner.isdigit() and (int(owner) == os.getpid() or not _alive(int(owner))):
            _remove(path)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    _sync_path(folder)


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.tmp-{os.getpid()}")


def _remove_leftovers(target: Path) -> None:
    """Remove temporaries of this target whose writers are gone; restore what one moved aside."""
    for kind in ("tmp", "old"):
        for path in target.parent.glob(f".{glob_escape(target.name)}.{kind}-*"):
            owner = path.name.rpartition("-")[2]
            if owner.isdigit() and int(owner) != os.getpid() and _alive(int(owner)):
                continue
            if kind == "old" and not target.exists():
                path.rename(target)
            else:
                _remove(path)


def glob_escape(name: str) -> str:
    """Take a file name literally in a glob pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _unwritable(path: Path, error: OSError) -> BadFile:
    remedy = (
        "Free some space and run it again; nothing was left half-written."
        if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else "Check that the folder exists and that you may write there."
    )
    return BadFile(f"cannot be written ({error.strerror or error})", remedy, where=str(path))
