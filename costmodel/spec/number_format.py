"""Formats of numbers that hardware multiplies in."""

from __future__ import annotations

from enum import StrEnum


class NumberFormat(StrEnum):
    """What the peaks of a device are stated in. Those that jobs are planned in are `Precision`, by the same names."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    """Of the plain cores; on AMD's of the matrix cores."""
    TF32 = "tf32"
    """fp32 cut to ten bits of mantissa for the multiplication."""
    FP8 = "fp8"
    FP4 = "fp4"
    """NVFP4 or MXFP4: with a scale for every few numbers."""
    INT8 = "int8"
