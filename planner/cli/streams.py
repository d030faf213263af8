"""stdout and stderr of the command line, so that a closed, full or abandoned one is no defect of ours.

The answer on stdout must arrive: losing it is an error that says so. It must also arrive alone: code that is not ours,
a user's factory or a library, may print at any time, by Python or to descriptor 1, and what it prints goes to stderr.
Messages on stderr may get lost: a command whose stderr is full still does its work and keeps its exit code.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from typing import NoReturn, TextIO, cast

from costmodel.errors import BadInputError

STDOUT, STDERR = 1, 2
NUM_STANDARD_STREAMS = 3


class ReaderLeftError(Exception):
    """Whoever read stdout has gone, as `head` does: no error, but no reason to go on either."""


class AnswerStream(io.TextIOWrapper):
    """stdout. Raises ReaderLeftError or BadInputError, and writes to nowhere from then on."""

    def write(self, text: str) -> int:
        """Write `text`; what the encoding lacks is written as an escape.

        Answers come from the main thread. What others print goes to stderr.
        """
        if threading.current_thread() is not threading.main_thread():
            return sys.stderr.write(text)
        try:
            # click finds out whether a stream takes text by writing none of it, and hides how that went.
            return super().write(text) if text != "" else 0
        except OSError as error:
            self._lost(error)

    def flush(self) -> None:
        """Hand over what was written."""
        try:
            super().flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> NoReturn:
        point_to_nowhere(self)
        if error.errno == errno.EPIPE:
            raise ReaderLeftError from None
        reason = "it is closed" if error.errno == errno.EBADF else (error.strerror or str(error)).lower()
        raise BadInputError(f"stdout: the answer cannot be written: {reason}; send it elsewhere") from None


class MessageStream(io.TextIOWrapper):
    """stderr. What cannot be written is dropped, and so is everything after it."""

    def write(self, text: str) -> int:
        """Write `text`, if it can be written."""
        try:
            return super().write(text)
        except OSError:
            point_to_nowhere(self)
            return len(text)

    def flush(self) -> None:
        """Hand over what was written, if it can be."""
        try:
            super().flush()
        except OSError:
            point_to_nowhere(self)


def arrange_streams() -> None:
    """Give this process standard streams that can be written. Called once, before any other file is opened."""
    # A closed descriptor would be given to the next file that is opened, and a print would then land in that file.
    for descriptor in range(NUM_STANDARD_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            # What cannot be written must not seem to be: stdout is left without a way to write.
            os.open(os.devnull, os.O_RDONLY if descriptor == STDOUT else os.O_RDWR)
    answers = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    sys.stdout = _wrapped(sys.stdout, AnswerStream, answers)
    sys.stderr = _wrapped(sys.stderr, MessageStream, STDERR)


def point_to_nowhere(stream: io.TextIOWrapper) -> None:
    """Let what `stream` still holds go to the null device, so that the flush at exit does not fail as well."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _wrapped(stream: TextIO | None, kind: type[AnswerStream | MessageStream], descriptor: int) -> TextIO:
    """A stream of `kind` on `descriptor`, with the encoding and buffering that Python chose for `stream`."""
    file = io.BufferedWriter(io.FileIO(descriptor, "wb", closefd=False))
    if stream is None:  # Python found it closed
        return kind(file, encoding="utf-8")
    plain = cast(io.TextIOWrapper, stream)
    return kind(
        file,
        encoding=plain.encoding,
        errors="backslashreplace",
        line_buffering=plain.line_buffering,
        write_through=plain.write_through,
    )
