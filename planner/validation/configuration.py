"""Configuration: what a published run says of its model, machine and layout, and nothing of what came of it.

A prediction is made from this value alone. It has no field for a measured figure, a source or a remark, so that none of
them can find a way into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from costmodel.memory_counter import MemoryCounter, MemoryRank
from costmodel.spec import Spec
from costmodel.spec.faults import fault
from costmodel.spec.model import MAX_LAYERS
from costmodel.spec.shown import shown
from planner.validation.unsaid import Unsaid, faulty

Degree = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of parallelism, and other counts that no run exceeds."""
Width = Annotated[int, Field(ge=1, le=10_000_000)]
Batch = Annotated[int, Field(ge=1, le=100_000_000)]

Text = Annotated[str, Field(max_length=500)]

WITH_DEFAULTS = ("precision", "sp", "zero", "zero_group", "schedule", "recompute")
"""Cells for which something is taken, with a note, where a source is silent."""
UNKNOWN_WORDS = ("unknown", "not stated", "unspecified", "auto", "default", "?", "-", "n/a", "na")
"""What sources write into such a cell where they do not say."""


class Configuration(Spec):
    """One run as its source describes it; None where the source is silent."""

    framework: Text
    model: Text = ""
    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS - 2)]
    hidden: Width
    ffn_hidden: Width | None = None
    gated_mlp: bool
    heads: Width
    kv_heads: Width | None = None
    head_dim: Width | None = None
    attention: Literal["mla"] | None = None
    vocab: Width
    tied_embeddings: bool
    experts: Degree | None = None
    top_k: Degree | None = None
    moe_ffn_hidden: Width | None = None
    shared_expert_ffn: Width | None = None
    dense_first_layers: Annotated[int, Field(ge=0, le=MAX_LAYERS)] | None = None
    moe_every: Degree | None = None
    routing: Text | None = None
    seq_len: Batch
    gpu: Text
    gpus_per_node: Degree | None = None
    intra_node: Text | None = None
    inter_node: Text | None = None
    nic_gbit_per_s_per_gpu: Annotated[float, Field(gt=0, le=100_000)] | None = None
    n_gpus: Degree
    precision: Text | None = None
    tp: Degree | None = None
    sp: bool | None = None
    pp: Degree | None = None
    vpp: Degree | None = None
    dp: Degree | None = None
    cp: Degree | None = None
    ep: Degree | None = None
    zero: Annotated[int, Field(ge=0, le=3)] | None = None
    zero_group: Text | None = None
    """Ranks over which ZeRO shards: a number, or `all` data-parallel ones."""
    schedule: Text | None = None
    micro_batch: Batch
    global_batch: Batch
    recompute: Text | None = None
    activation_offload_frac: Annotated[float, Field(ge=0, le=1)] | None = None
    release: Text | None = None
    memory_counter: MemoryCounter | None = None
    memory_rank: MemoryRank | None = None

    @classmethod
    def from_cells(cls, cells: Mapping[str, str]) -> Self | Unsaid:
        """The configuration in a row's `cells`, blank where nothing is said; or the first cell that is at fault."""
        data = {name: cells[name].strip() or None for name in cls.model_fields if name in cells}
        for name in WITH_DEFAULTS:
            if (data.get(name) or "").lower() in UNKNOWN_WORDS:
                data[name] = None
        missing = next((name for name in REQUIRED if data.get(name) is None), None)
        if missing is not None:
            return faulty(f"{missing} is missing")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            if first["type"] == "value_error":
                return faulty(str(first["ctx"]["error"]))
            return faulty(fault(first, str(first["loc"][0])))

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.experts is not None and self.top_k is None:
            raise ValueError(f"top_k is missing, but experts is {self.experts}")
        if self.experts is None and self.top_k is not None:
            raise ValueError(f"experts is missing, but top_k is {self.top_k}")
        if self.experts is not None and self.top_k is not None and self.top_k > self.experts:
            raise ValueError(f"top_k is {self.top_k}, above experts {self.experts}")
        if self.experts is None and self.ffn_hidden is None:
            raise ValueError("ffn_hidden is missing")
        if self.experts is not None and self.expert_ffn is None:
            raise ValueError("moe_ffn_hidden is missing")
        if self.heads % (self.kv_heads or self.heads):
            raise ValueError(f"heads is {self.heads}, no multiple of kv_heads {self.kv_heads}")
        if self.head_dim is None and self.hidden % self.heads:
            raise ValueError(f"head_dim is missing, and hidden {self.hidden} is no multiple of heads {self.heads}")
        if (self.dense_first_layers or 0) > self.layers:
            raise ValueError(f"dense_first_layers is {self.dense_first_layers}, above layers {self.layers}")
        if self.zero_group not in (None, "all") and not self.zero_group.isdecimal():
            raise ValueError(f"zero_group is {shown(self.zero_group)}, but must be a number or all")
        return self

    @property
    def expert_ffn(self) -> int | None:
        """Columns of a routed expert."""
        return self.moe_ffn_hidden or self.ffn_hidden


REQUIRED = tuple(name for name, field in Configuration.model_fields.items() if field.is_required())
"""Cells without which nothing can be predicted; so they are columns that a file must have."""
