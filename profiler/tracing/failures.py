"""What code that is not ours may raise when it is handed sizes that it was not written for, and how to say so."""

from __future__ import annotations

import logging
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


def in_words(error: BaseException) -> str:
    """The kind of `error` and its first paragraph, on one line of bounded length."""
    paragraph = str(error).strip().split("\n\n")[0]
    text = f"{type(error).__name__}: {' '.join(paragraph.split())}".rstrip(".: ")
    return text if len(text) <= MAX_WORDS_CHARS else f"{text[: MAX_WORDS_CHARS - 3]}..."


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
