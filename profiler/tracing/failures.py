"""What code that is not ours may raise when it is handed sizes that it was not written for, and how to say so."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

CODE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Of model classes. torch raises RuntimeError where a shape, an operator or a value is not to be had without values."""
MAX_WORDS_CHARS = 300
MIXES_FORMATS = re.compile(
    r"expected scalar type|same dtype|dtype mismatch|unsupported dtype|Half|BFloat16", re.IGNORECASE
)
"""What torch says of numbers in a format that an operator does not take, or that do not go together."""
LOOKS_AT_VALUES = re.compile(r"DataDependent|DynamicOutputShape|swap_tensors|Couldn't swap|_local_scalar_dense")
"""In what torch raises where code wants the values of a tensor that has none."""


def in_words(error: BaseException) -> str:
    """The kind of `error` and its first paragraph, on one line of bounded length."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - of a kind that is not ours, which may fail at telling what it is as well
        said = ""
    kind = type(error).__name__
    if LOOKS_AT_VALUES.search(f"{kind}: {said}"):
        return "its code looks at the values of tensors, which a trace does not have"
    text = f"{kind}: {' '.join(said.strip().split(chr(10) * 2)[0].split())}".rstrip(".: ")
    return text if len(text) <= MAX_WORDS_CHARS else f"{text[: MAX_WORDS_CHARS - 3]}..."


def a_kind(value: object) -> str:
    """The kind of a value with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def mixes_formats(error: BaseException) -> bool:
    """Whether torch refused an operator for the format of its numbers."""
    return isinstance(error, RuntimeError | TypeError) and MIXES_FORMATS.search(str(error)) is not None


@contextmanager
def quiet_torch() -> Iterator[None]:
    """Keeps torch's own report of an operator that fails without values, and warnings of foreign code, off stderr."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = disabled


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keeps advice of transformers (faster kernels, unused keys) off stderr."""
    from transformers import logging as advice

    verbosity = advice.get_verbosity()
    advice.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        advice.set_verbosity(verbosity)
