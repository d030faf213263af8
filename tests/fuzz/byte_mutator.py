"""Mutates a config as bytes, without regard to JSON: what a broken disk, editor or download leaves behind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

NUMBERS = (
    b"1e400", b"-1e400", b"1E3", b"-0.0", b"-0", b"0x10", b"1_000", b"NaN", b"Infinity", b"-Infinity", b"01",
    b"9223372036854775808", b"1" + b"0" * 40, b"9" * 999, b"9" * 1001, b"9" * 5000, b"0." + b"1" * 400, b"4096.0",
)  # fmt: skip
TEXTS = (
    b'"\\ud800"', b'"\\udfff\\ud800"', b'"\\u0000"', b'"\x1b[31m"', b'"\\u001b[2J"', b'"\\n\\n"', b'"[bold]"', b'""',
    b"null", b"true", b"[]", b"{}", b"'x'", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\0", b",",
    b"}",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "cp037", "latin-1")


def mutate_bytes(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """One to four mutations of `data`; `others` are files to splice with."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(rng, data, others)
    return data


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flip(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _delete(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(rng, data)
    return data[:start] + data[start + rng.choice((1, 1, 2, 10, 100)) :]


def _insert(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(rng, data)
    return data[:start] + rng.choice((*NUMBERS, *TEXTS, rng.randbytes(rng.randrange(1, 8)))) + data[start:]


def _duplicate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start, end = sorted((_place(rng, data), _place(rng, data)))
    return data[:end] + data[start:end] + data[end:]


def _truncate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: _place(rng, data)]


def _splice(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def _number(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Another number in the place of one that stands after a colon."""
    starts = [place for place in range(len(data) - 1) if data[place : place + 1] == b":"]
    if not starts:
        return data
    start = rng.choice(starts) + 1
    ends = [place for mark in (b",", b"\n", b"}") if (place := data.find(mark, start)) >= 0]
    return data[:start] + b" " + rng.choice((*NUMBERS, *TEXTS)) + data[min(ends, default=len(data)) :]


def _nest(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    depth = rng.choice((1, 63, 64, 65, 500, 5_000, 100_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"text_config":', b"}")))
    inner = data if rng.random() < 0.5 else b"1"
    nested = opening * depth + inner + closing * rng.choice((depth, depth, 0))
    return nested if rng.random() < 0.5 else data.rstrip()[:-1] + b', "nested": ' + nested + b"}"


def _encode(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data.decode("utf-8", errors="replace").encode(rng.choice(ENCODINGS), errors="replace")


def _repeat_key(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A line of the file once more, which gives an object the same key twice."""
    lines = data.split(b"\n")
    line = rng.choice(lines)
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _long_text(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A text of up to a megabyte as a key or value."""
    text = json.dumps(rng.choice(("a", "\x1b", "\u202e", "0", "\\")) * rng.choice((100, 10_000, 1_000_000))).encode()
    key, value = rng.choice(((b'"model_type"', text), (b'"architectures"', b"[" + text + b"]"), (text, b"1")))
    return b"{" + key + b": " + value + b", " + data.lstrip()[1:]


MUTATIONS: tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...] = (
    _flip, _delete, _insert, _duplicate, _truncate, _splice, _number, _number, _nest, _encode, _repeat_key, _long_text,
)  # fmt: skip
