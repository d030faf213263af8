"""Files in and out: read as data with one sentence for each fault, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from costmodel.errors import BadInputError

MAX_FILE_BYTES = 64 * 2**20
"""Far above any config, plan or profile; a larger file was named by mistake."""
MAX_SHOWN_PATH = 1000
"""Characters of a path in a sentence; one that stands in a file can have any length."""
ANOTHER_OUTPUT = "give another -o"
"""What would do where an output cannot be written, of commands that have this option."""


def read_text(path: Path, what: str, *, max_bytes: int = MAX_FILE_BYTES) -> str:
    """The UTF-8 text of `path`; `what` names its role in errors, e.g. "model config".

    Raises BadInputError for anything but a readable text file of at most `max_bytes` bytes.
    """
    where = f"{what} {_shown(path)}"
    try:
        # Asked before it is opened: to open a named pipe waits for whoever writes into it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise BadInputError(f"{where}: is not a file")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        leads_to = f"is a link to {os.readlink(path)}, where there is nothing" if path.is_symlink() else "no such file"
        raise BadInputError(f"{where}: {leads_to}") from None
    except (OSError, ValueError) as error:
        raise BadInputError(f"{where}: cannot be read: {_reason(error)}") from None
    if len(data) > max_bytes:
        raise BadInputError(f"{where}: is larger than {max_bytes // 2**10} KiB, so it cannot be one")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    if "\0" in text:
        raise BadInputError(f"{where}: is a binary file, not text")
    return text


def is_there(path: Path, what: str) -> bool:
    """Whether there is anything called `path`, also a link to nowhere.

    Raises BadInputError, in which `what` names its role, where that cannot be known: in a folder that may not be
    entered.
    """
    try:
        path.lstat()
    except PermissionError as error:
        raise BadInputError(f"{what} {_shown(path)}: cannot be read: {_reason(error)}") from None
    except (OSError, ValueError):
        return False
    return True


def sha256_of(path: Path, what: str) -> str:
    """SHA-256 of the text of `path` in hexadecimal; raises BadInputError as `read_text`."""
    return sha256_of_text(read_text(path, what))


def sha256_of_text(text: str) -> str:
    """SHA-256 of `text` in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def schema_of(text: str) -> str | None:
    """The `schema` key of JSON `text`, or None where it has none or is no JSON object."""
    schema = _object(text).get("schema")
    return schema if isinstance(schema, str) else None


def keys_of(text: str) -> frozenset[str]:
    """The keys of the JSON object `text`; none where it is no JSON object."""
    return frozenset(_object(text))


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def check_writable(
    path: Path, may_replace: Callable[[str], bool], *, force: bool | None, remedy: str = ANOTHER_OUTPUT
) -> None:
    """Raise BadInputError where `path` cannot be written, so that no long work is done in vain.

    An existing file is replaced only if `may_replace(its text)` says that it is of the same kind, or with `force`,
    which is None for a command that has no such option. `remedy` says what would do. A symbolic link stands for where
    it points.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise BadInputError(f"output {_shown(path)}: cannot be written: {_reason(error)}; {remedy}") from None
    if mode is not None and not stat.S_ISREG(mode):
        raise BadInputError(f"output {_shown(path)}: is not a regular file; {remedy}")
    if not target.parent.is_dir():
        raise BadInputError(f"output {_shown(path)}: the folder {target.parent} does not exist; create it or {remedy}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise BadInputError(f"output {_shown(path)}: the folder {target.parent} cannot be written; {remedy}")
    if mode is not None and not force and not _holds(target, path, may_replace):
        overwrite = "" if force is None else ", or --force to overwrite it"
        raise BadInputError(f"output {_shown(path)}: holds something else already; {remedy}{overwrite}")


def _holds(target: Path, path: Path, is_kind: Callable[[str], bool]) -> bool:
    try:
        with target.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadInputError(f"output {_shown(path)}: cannot be read before it is replaced: {_reason(error)}") from None
    return len(data) <= MAX_FILE_BYTES and is_kind(data.decode("utf-8", errors="replace"))


def refuse_same_file(output: Path, *inputs: Path | str, remedy: str = ANOTHER_OUTPUT) -> None:
    """Raise BadInputError where `output` is one of the files that are read: not even `--force` may replace those."""
    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise BadInputError(f"output {output}: is the file that is read; {remedy}")


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` whole or not at all, through a symbolic link to where it points.

    Raises BadInputError where the file system refuses. Call `check_writable` before.
    """
    temporary: Path | None = None
    try:
        target = Path(os.path.realpath(path))
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".planner-", suffix=".part")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files for the owner alone; give what a plain open() would have given.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise BadInputError(f"output {_shown(path)}: cannot be written: {_reason(error)}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _shown(path: Path) -> str:
    """`path` in a sentence: quoted where it cannot be printed, and its ends where it is too long to be one."""
    text = str(path) if str(path).isprintable() else repr(str(path))
    return text if len(text) <= MAX_SHOWN_PATH else f"{text[:120]}...{text[-120:]}"


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
