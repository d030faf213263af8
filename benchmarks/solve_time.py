"""How long the search takes beside a fixed amount of arithmetic, and how many layouts it solves.

Run with `python -m benchmarks.solve_time`. Raw samples go to `benchmarks/results/solve_time.json`. The ratio to a
plain Python loop, timed in turns with the search, is what can be compared between machines and days.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from planner.cli.question import WorkloadFlags, build_job
from planner.job import Layout
from planner.search.solve import solve

RESULTS = Path(__file__).parent / "results" / "solve_time.json"
NUM_ROUNDS = 3
YARDSTICK_STEPS = 5_000_000
JOBS = (
    ("llama-3-8b", 64, "native", 512),
    ("llama-3-8b", 64, "megatron", 512),
    ("llama-3-70b", 64, "native", 512),
    ("llama-3-70b", 1024, "torchtitan", 2048),
)


def main() -> int:
    """Time every job and print one line each."""
    records = [timed(*job) for job in JOBS]
    versions = {name: metadata.version(name) for name in ("parallelism-planner", "ortools")}
    date = datetime.now(UTC).isoformat(timespec="seconds")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"date": date, "versions": versions, "jobs": records}, indent=1) + "\n")
    return 0


def timed(model: str, num_gpus: int, framework: str, global_batch: int) -> dict[str, Any]:
    """Search one job several times, each beside the yardstick."""
    job = build_job(num_gpus, model, "h100-sxm", None, framework, WorkloadFlags(global_batch=global_batch))
    samples, certificate = [], None
    for _ in range(NUM_ROUNDS):
        yardstick_s, started_s = yardstick(), time.process_time()
        answer = solve(job, Layout())
        samples.append({"search_cpu_s": time.process_time() - started_s, "yardstick_cpu_s": yardstick_s})
        certificate = answer.plan_file.certificate if answer.plan_file is not None else None
    search_s = statistics.median(sample["search_cpu_s"] for sample in samples)
    ratio = statistics.median(sample["search_cpu_s"] / sample["yardstick_cpu_s"] for sample in samples)
    counts = "nothing fits"
    if certificate is not None:
        counts = f"{certificate.solved} of {certificate.considered} solved, gap {certificate.gap_frac:.2%}"
    sys.stdout.write(
        f"{model} on {num_gpus} GPUs, {framework}: {search_s:.2f} s CPU, {ratio:.1f} yardsticks; {counts}\n"
    )
    sys.stdout.flush()
    return {"model": model, "gpus": num_gpus, "framework": framework, "samples": samples, "counts": counts}


def yardstick() -> float:
    """CPU time of a plain Python sum."""
    started_s, total = time.process_time(), 0
    for number in range(YARDSTICK_STEPS):
        total += number
    return time.process_time() - started_s


if __name__ == "__main__":
    sys.exit(main())
