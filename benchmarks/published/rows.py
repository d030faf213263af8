"""The published runs as values: one row of runs.csv each, blank where the source does not say.

runs.csv holds every run in the collection of published measurements that is dense, in bf16, on a GPU of a cluster
preset, and without context, expert or interleaved pipeline parallelism. `source` names who published it, `source_title`
and `source_where` the page. `use_time` and `use_memory` say whether configuration and result are complete; memory
counts only where `memory_counter` is `allocated` (the peak of torch's caching allocator).
"""

from __future__ import annotations

import csv
from pathlib import Path

from costmodel.spec import Spec

RUNS = Path(__file__).parent / "runs.csv"
GIB = 2**30


class Row(Spec):
    """One published run."""

    id: str
    source: str
    source_title: str
    source_where: str
    published_in: str
    framework: str
    model: str
    layers: int
    hidden: int
    ffn_hidden: int
    gated_mlp: bool
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied_embeddings: bool
    seq_len: int
    gpu: str
    gpus_per_node: int
    intra_node: str | None
    inter_node: str | None
    nic_gbit_per_s_per_gpu: float | None
    n_gpus: int
    precision: str
    tp: int
    sp: bool | None
    pp: int
    vpp: int | None
    dp: int
    cp: int | None
    ep: int | None
    zero: int
    zero_group: str | None
    """Ranks over which ZeRO-1 shards: a number or `all`."""
    schedule: str | None
    micro_batch: int
    global_batch: int
    recompute: str
    step_time_s: float | None
    peak_mem_gb: float | None
    """In GiB."""
    memory_counter: str | None
    memory_rank: str | None
    """Whose peak it is: `max` over ranks, or the `last` rank."""
    use_time: bool
    use_memory: bool
    notes: str

    @property
    def has_memory(self) -> bool:
        """Whether the row states a peak of what torch allocated."""
        return self.use_memory and self.memory_counter == "allocated"

    @property
    def peak_memory_bytes(self) -> float:
        """The stated peak; raises ValueError where there is none."""
        if self.peak_mem_gb is None:
            raise ValueError(f"{self.id} states no peak memory")
        return self.peak_mem_gb * GIB


def read_rows(path: Path = RUNS) -> tuple[Row, ...]:
    """All rows in order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            Row.model_validate({key: value or None for key, value in line.items()}) for line in csv.DictReader(file)
        )
