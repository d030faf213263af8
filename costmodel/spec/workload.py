"""Workload: what is to be trained, apart from model and machine."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from costmodel.spec.base import Document


class Precision(StrEnum):
    """Number format of activations and matrix multiplications: each of `NumberFormat` that a job can be planned in."""

    BF16 = "bf16"
    FP16 = "fp16"
    """With dynamic loss scaling: small gradients would vanish in its short range otherwise (arXiv 1710.03740)."""
    FP32 = "fp32"

    @property
    def bytes(self) -> int:
        """Bytes of one number."""
        return {Precision.BF16: 2, Precision.FP16: 2, Precision.FP32: 4}[self]


class Workload(Document):
    """One training job. The batch is counted in sequences of `seq_len` tokens."""

    SCHEMA: ClassVar[str] = "workload/1"

    global_batch: int = Field(gt=0)
    seq_len: int = Field(gt=0)
    precision: Precision = Precision.BF16
    optimizer: Literal["adamw"] = "adamw"
    method: Literal["pretrain"] = "pretrain"

    @property
    def tokens_per_step(self) -> int:
        """Tokens that one optimizer step sees."""
        return self.global_batch * self.seq_len
