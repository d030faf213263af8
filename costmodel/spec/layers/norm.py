"""Normalisations: what they learn and keep. Their time is element-wise work of the layer that they stand in."""

from __future__ import annotations

from enum import StrEnum

from costmodel.spec.operations import Saved
from costmodel.spec.stack import SoftwareStack


class Norm(StrEnum):
    """A normalisation over the last dimension."""

    RMS = "rms"
    """Root mean square, with a gain (arXiv 1910.07467)."""
    RMS_GAIN_IN_FP32 = "rms_gain_in_fp32"
    """The same, of which eager code multiplies the gain in fp32 too (Gemma, OLMo 2, gpt-oss)."""
    LAYER = "layer"
    """Mean and variance, with gain and bias (arXiv 1607.06450)."""
    LAYER_WITHOUT_BIAS = "layer_without_bias"
    LAYER_WRITTEN_OUT = "layer_written_out"
    """The same, which eager code writes out in fp32 (Cohere)."""
    FIXED = "fixed"
    """Of any kind, with nothing to learn."""
    FIXED_IN_FP32 = "fixed_in_fp32"
    """The same, to which eager code gives a copy in fp32 (OLMo 1)."""

    def num_params(self, width: int) -> int:
        """Parameters over `width` numbers."""
        return width * {Norm.LAYER: 2, Norm.FIXED: 0, Norm.FIXED_IN_FP32: 0}.get(self, 1)

    @property
    def num_sums(self) -> int:
        """Sums over the width that a token needs, and its gradient as many: of squares, and around a mean another."""
        return 1 if self in (Norm.RMS, Norm.RMS_GAIN_IN_FP32) else 2

    def saved(self, values: float, stack: SoftwareStack) -> Saved:
        """What it keeps of `values` numbers, apart from its result, which belongs to what reads it.

        A kernel keeps its input. Eager code writes root-mean-square norms out and keeps a copy of the input in fp32
        and the normalised numbers before the gain, in fp32 where the gain is; around a mean it keeps the differences
        from it twice. Mean and variance count as nothing.
        """
        written_out = {
            Norm.RMS: Saved(values=values, fp32_values=values),
            Norm.RMS_GAIN_IN_FP32: Saved(fp32_values=2 * values),
            Norm.LAYER_WRITTEN_OUT: Saved(fp32_values=3 * values),
            Norm.FIXED_IN_FP32: Saved(fp32_values=values),
        }
        kernel = Saved(values=values)
        return written_out.get(self, kernel) if stack.norm_keeps_fp32_copy else kernel
