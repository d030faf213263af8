"""Predicts the published runs and says how far off it is: the ground on which `costmodel.uncertainty` stands.

Run with `python -m benchmarks.published.residuals` from the top folder of a checkout. It prints errors by source and
writes every residual to benchmarks/results/published_residuals.json.

Nothing is fitted here. But the stacks' constants and the efficiencies of the devices come from a fit on published runs
in which all of these sources took part, so the residuals are not the error to expect on a source never seen.
"""

from __future__ import annotations

import datetime
import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.published.express import LeftOut, express
from benchmarks.published.rows import Row, read_rows
from benchmarks.published.spread import (
    MIN_ROWS,
    Residual,
    SourceErrors,
    by_source,
    errors,
    half_width,
    leave_one_out,
)
from costmodel.predict import predict
from costmodel.spec import Infeasible, Prediction
from costmodel.uncertainty import COVERED_FRAC, memory_bounds_bytes

RESULTS = Path(__file__).parents[1] / "results" / "published_residuals.json"

NOT_TIMED = {"megatron-tests": "step time of a functional test of a tiny model"}
"""Sources whose step times say nothing about speed: they ran to compare losses, in deterministic mode."""


@dataclass(frozen=True)
class Residuals:
    """What came of all rows."""

    time: tuple[Residual, ...]
    memory: tuple[Residual, ...]
    left_out: tuple[tuple[Row, str], ...]
    """Rows that took no part at all, with the reason."""


def residuals(rows: Iterable[Row]) -> Residuals:
    """Predict every row that can be said, and set it beside what was measured."""
    time: list[Residual] = []
    memory: list[Residual] = []
    left_out: list[tuple[Row, str]] = []
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        job = express(row)
        if isinstance(job, LeftOut):
            left_out.append((row, job.reason))
            continue
        prediction = predict(job.model, job.workload, job.cluster, job.stack, job.plan)
        if isinstance(prediction, Infeasible):
            left_out.append((row, prediction.rule))
            continue
        timed = row.use_time and row.source not in NOT_TIMED
        if not timed and not row.has_memory:
            left_out.append((row, NOT_TIMED[row.source]))
        if timed:
            time.append(_time_residual(row, prediction))
        if row.has_memory and _memory_key(row) not in seen:
            seen.add(_memory_key(row))
            memory.append(_memory_residual(row, prediction))
    return Residuals(tuple(time), tuple(memory), tuple(left_out))


def _time_residual(row: Row, prediction: Prediction) -> Residual:
    if row.step_time_s is None:
        raise ValueError(f"{row.id} is marked use_time but states no step time")
    return Residual(
        id=row.id,
        source=row.source,
        measured=row.step_time_s,
        predicted=prediction.step_time_s,
        low=prediction.step_time_low_s,
        high=prediction.step_time_high_s,
    )


def _memory_residual(row: Row, prediction: Prediction) -> Residual:
    """The peak of the rank that the row speaks of: the worst, or the last, which is one of the last stage."""
    peak_bytes = prediction.stages[-1].peak_bytes if row.memory_rank == "last" else prediction.peak_memory_bytes
    low_bytes, high_bytes = memory_bounds_bytes(peak_bytes)
    return Residual(row.id, row.source, row.peak_memory_bytes, peak_bytes, low_bytes, high_bytes)


def _memory_key(row: Row) -> tuple[object, ...]:
    """Rows that differ only in the number of micro-batches repeat one measured peak; it counts once."""
    layout = (row.tp, row.pp, row.dp, row.zero, row.micro_batch, row.recompute)
    return (row.source, row.model, row.gpu, row.tied_embeddings, *layout, row.peak_mem_gb)


def summary(found: Sequence[Residual]) -> dict[str, Any]:
    """Errors by source and over all, the half-width, and what it covers of each source left out."""
    groups = by_source(found)
    per_source = {source: errors(rows) for source, rows in groups.items()}
    return {
        "by_source": {source: asdict(figures) for source, figures in per_source.items()},
        "mean_over_sources": _macro(per_source),
        "half_width_frac": half_width(groups),
        "leave_one_source_out": {source: asdict(result) for source, result in leave_one_out(groups).items()},
    }


def _macro(per_source: Mapping[str, SourceErrors]) -> dict[str, float]:
    """Means over the sources with at least MIN_ROWS rows."""
    scored = [figures for figures in per_source.values() if figures.num_rows >= MIN_ROWS]
    return {
        name: statistics.fmean(getattr(figures, name) for figures in scored)
        for name in ("median_abs_error_frac", "p90_abs_error_frac", "bias_frac", "inside_frac")
    }


def document(result: Residuals) -> dict[str, Any]:
    """Everything as JSON: summaries first, then every residual and every row left out."""
    return {
        "schema": "published-residuals/1",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in ("parallelism-planner", "pydantic")},
        },
        "covered_frac": COVERED_FRAC,
        "min_rows": MIN_ROWS,
        "time": {"unit": "s", **summary(result.time), "rows": [asdict(row) for row in result.time]},
        "memory": {"unit": "bytes", **summary(result.memory), "rows": [asdict(row) for row in result.memory]},
        "left_out": [{"id": row.id, "source": row.source, "reason": reason} for row, reason in result.left_out],
    }


def write(data: dict[str, Any], path: Path) -> None:
    """Write whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)


def table(kind: str, figures: Mapping[str, Any]) -> str:
    """The figures of one quantity as lines of text."""
    head = f"{kind:<18}{'rows':>5}{'median':>8}{'p90':>8}{'bias':>8}{'inside':>8}{'others':>9}{'covers':>8}"
    lines = [head]
    for source, row in figures["by_source"].items():
        left = figures["leave_one_source_out"].get(source)
        judged = f"{left['half_width_frac']:>9.1%}{left['covered_frac']:>8.0%}" if left else ""
        lines.append(f"{source:<18}{row['num_rows']:>5}{_errors_text(row)}{judged}")
    lines.append(f"{'mean over sources':<18}{'':>5}{_errors_text(figures['mean_over_sources'])}")
    lines.append(
        f"half-width that holds {COVERED_FRAC:.0%}, sources weighing the same: {figures['half_width_frac']:.1%}"
    )
    return "\n".join(lines)


def _errors_text(row: Mapping[str, float]) -> str:
    names = ("median_abs_error_frac", "p90_abs_error_frac")
    return (
        "".join(f"{row[name]:>8.1%}" for name in names) + f"{row['bias_frac']:>+8.1%}" + f"{row['inside_frac']:>8.0%}"
    )


def main() -> int:
    """Predict, print, write."""
    result = residuals(read_rows())
    data = document(result)
    write(data, RESULTS)
    sys.stdout.write(table("step time", data["time"]) + "\n\n" + table("peak memory", data["memory"]) + "\n\n")
    reasons = Counter((row.source, reason) for row, reason in result.left_out)
    for (source, reason), count in sorted(reasons.items()):
        sys.stdout.write(f"left out {count:>3}  {source}: {reason}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
