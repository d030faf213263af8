"""Rows of published runs as text, for tests."""

from __future__ import annotations

import csv
import io
from functools import cache

from benchmarks.published import RUNS
from planner.validation.configuration import Configuration

FORBIDDEN = (
    *("id", "source_title", "source_where", "published_in", "kind", "params_b", "notes", "tflops_convention"),
    *("mfu_pct", "tflops_per_gpu", "tokens_per_s_per_gpu", "step_time_s", "peak_mem_gb"),
    *("use_time", "use_memory", "outcome"),
)
"""Columns that no prediction may depend on."""

SMALL = {
    "framework": "Megatron-Core 0.8",
    "model": "Llama",
    "layers": "8",
    "hidden": "1024",
    "ffn_hidden": "4096",
    "gated_mlp": "1",
    "heads": "16",
    "kv_heads": "8",
    "vocab": "32000",
    "tied_embeddings": "0",
    "seq_len": "2048",
    "gpu": "H100-80GB",
    "gpus_per_node": "8",
    "n_gpus": "8",
    "precision": "bf16",
    "tp": "2",
    "sp": "1",
    "pp": "2",
    "dp": "2",
    "zero": "1",
    "micro_batch": "1",
    "global_batch": "8",
    "recompute": "none",
}
"""A small dense model on one machine."""


def configuration(**cells: str) -> Configuration:
    """The small run with other cells."""
    found = Configuration.from_cells({**SMALL, **cells})
    assert isinstance(found, Configuration), found
    return found


@cache
def carried() -> tuple[dict[str, str], ...]:
    """The rows that the project carries."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def as_csv(rows: list[dict[str, str]]) -> str:
    """A file of these rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
