"""Training data: any text file or folder of text files, read as bytes, one token a byte."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch

from costmodel.errors import BadInputError

NUM_BYTES = 256
"""Token ids are 0 to 255."""
_SCANNED_BYTES = 1 << 20
"""How much of each file is looked through for NUL bytes."""


class ByteText:
    """Text as sequences of byte tokens, drawn by an order that depends on seed and step alone.

    Every layout of a job sees the same batches. Files are memory-mapped; a sequence never crosses a file's end.
    """

    def __init__(self, path: Path, seq_len: int) -> None:
        """Opens a file, or every file in a folder and below it (names that begin with a dot are left out).

        Raises BadInputError where nothing can be read, a file is not text, or no file holds seq_len + 1 bytes.
        """
        self._length = seq_len + 1
        files = [file for file in (_open(file) for file in _files(path)) if file.size >= self._length]
        if not files:
            raise BadInputError(
                f"--data {path}: no file in it has the {self._length} bytes that one sequence of "
                f"seq_len {seq_len} and its next token need; give a longer text or a smaller --seq-len"
            )
        self._files = files
        self._ends = np.cumsum([file.size - self._length + 1 for file in files])

    def batch(self, seed: int, step: int, num_sequences: int) -> torch.Tensor:
        """Token ids [num_sequences, seq_len + 1] (int64) of one step's global batch."""
        generator = np.random.default_rng(_batch_seed(seed, step))
        starts = generator.integers(0, self._ends[-1], num_sequences)
        return torch.from_numpy(np.stack([self._sequence(int(start)) for start in starts]).astype(np.int64))

    def _sequence(self, start: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        index = int(np.searchsorted(self._ends, start, side="right"))
        offset = start - (int(self._ends[index - 1]) if index else 0)
        return self._files[index][offset : offset + self._length]


def _batch_seed(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"batch/{seed}/{step}".encode()).digest()[:8], "big")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise BadInputError(f"--data {path}: there is no such file or folder")
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise BadInputError(f"--data {path}: is neither a regular file nor a folder")
    try:
        below = sorted(file for file in path.rglob("*") if file.is_file())
    except OSError as error:
        raise BadInputError(f"--data {path}: cannot be read: {error.strerror}") from None
    files = [file for file in below if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    if not files:
        raise BadInputError(f"--data {path}: the folder holds no file; give a text file or a folder of them")
    return files


def _open(file: Path) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    try:
        if file.stat().st_size == 0:
            return np.empty(0, dtype=np.uint8)
        data = np.memmap(file, dtype=np.uint8, mode="r")
    except OSError as error:
        raise BadInputError(f"--data {file}: cannot be read: {error.strerror}") from None
    if not data[:_SCANNED_BYTES].all():
        raise BadInputError(f"--data {file}: holds NUL bytes, so it is not text; give UTF-8 text")
    return data
