"""Number formats as sources write them."""

from __future__ import annotations

from enum import StrEnum

from costmodel.spec import Precision


class Narrow(StrEnum):
    """Formats of matrix multiplications below 16 bits, whatever their scaling."""

    FP8 = "fp8"
    FP4 = "fp4"


DEFAULT = Precision.BF16
"""Where a source does not say: what large models have been trained in since 2021."""

_KEYWORDS: tuple[tuple[str, Precision | Narrow], ...] = (
    ("fp8", Narrow.FP8),
    ("float8", Narrow.FP8),
    ("fp4", Narrow.FP4),
    ("bf16", Precision.BF16),
    ("bfloat16", Precision.BF16),
    ("fp16", Precision.FP16),
    ("float16", Precision.FP16),
    ("half", Precision.FP16),
    ("fp32", Precision.FP32),
    ("float32", Precision.FP32),
)
"""The first one found decides: `mxfp8` and `fp8 (delayed scaling)` are fp8."""


def precision_named(text: str | None) -> Precision | Narrow | None:
    """The format that `text` names, the default where there is none; None for one that is not known."""
    if text is None:
        return DEFAULT
    lower = text.lower()
    return next((precision for keyword, precision in _KEYWORDS if keyword in lower), None)
