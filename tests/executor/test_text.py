"""Text as byte tokens: the same batches for every layout, and data that cannot be used is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from costmodel.errors import BadInputError
from executor.text import ByteText


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text")
    (path / "a.txt").write_bytes(b"a" * 40)
    (path / "short.txt").write_bytes(b"s" * 3)
    (path / "below").mkdir()
    (path / "below" / "b.txt").write_bytes(b"b" * 20)
    (path / ".hidden").write_bytes(b"h" * 40)
    return path


@given(seed=st.integers(0, 2**31), step=st.integers(0, 10**6), num_sequences=st.integers(1, 5))
def test_a_batch_depends_on_seed_and_step_alone(folder: Path, seed: int, step: int, num_sequences: int) -> None:
    batch = ByteText(folder, seq_len=8).batch(seed, step, num_sequences)
    assert batch.shape == (num_sequences, 9)
    assert batch.dtype == torch.int64
    assert torch.equal(batch, ByteText(folder, seq_len=8).batch(seed, step, num_sequences))


def test_batches_differ_between_steps_and_seeds(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(1, 256)) * 40)
    text = ByteText(tmp_path / "text", seq_len=16)
    batch = text.batch(0, 0, 4)
    assert not torch.equal(batch, text.batch(0, 1, 4))
    assert not torch.equal(batch, text.batch(1, 0, 4))


def test_sequences_are_consecutive_bytes(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(1, 256)))
    batch = ByteText(tmp_path / "text", seq_len=16).batch(0, 0, 8)
    assert torch.all(batch.diff(dim=1) == 1)


def test_every_file_is_read_and_no_sequence_crosses_from_one_to_another(folder: Path) -> None:
    batch = ByteText(folder, seq_len=8).batch(0, 0, 200)
    assert torch.all(batch == batch[:, :1])
    # Neither the short file nor the hidden one.
    assert {chr(token) for token in batch[:, 0].tolist()} == {"a", "b"}


def test_a_file_of_exactly_one_sequence_is_enough(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"123456789")
    assert bytes(ByteText(tmp_path / "text", seq_len=8).batch(0, 0, 1)[0].tolist()) == b"123456789"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing", None, "no such file or folder"),
        ("empty", b"", "no file in it has the 9 bytes"),
        ("short", b"12345678", "no file in it has the 9 bytes"),
        ("binary", b"\x7fELF\x00\x00\x00\x00\x00\x00", "NUL bytes, so it is not text"),
    ],
)
def test_unusable_data_is_named(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInputError, match=sentence) as failure:
        ByteText(tmp_path / name, seq_len=8)
    assert str(tmp_path / name) in str(failure.value)


def test_what_is_neither_file_nor_folder_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInputError, match="pipe: is neither a regular file nor a folder"):
        ByteText(tmp_path / "pipe", seq_len=8)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="the folder holds no file"):
        ByteText(tmp_path, seq_len=8)
