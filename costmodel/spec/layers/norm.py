"""Normalisations: what they learn. Their time is element-wise work of the layer that they stand in."""

from __future__ import annotations

from enum import StrEnum


class Norm(StrEnum):
    """A normalisation over the last dimension."""

    RMS = "rms"
    """Root mean square, with a gain (arXiv 1910.07467)."""
    LAYER = "layer"
    """Mean and variance, with gain and bias (arXiv 1607.06450)."""
    LAYER_WITHOUT_BIAS = "layer_without_bias"
    FIXED = "fixed"
    """Of any kind, with nothing to learn."""

    def num_params(self, width: int) -> int:
        """Parameters over `width` numbers."""
        return width * {Norm.RMS: 1, Norm.LAYER: 2, Norm.LAYER_WITHOUT_BIAS: 1, Norm.FIXED: 0}[self]

    @property
    def is_root_mean_square(self) -> bool:
        """Whether eager implementations write it out, with a copy of the input in fp32."""
        return self is Norm.RMS
