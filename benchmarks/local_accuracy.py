"""How well step time and peak memory of local runs are predicted from a profile, over many layouts.

Run with `python -m benchmarks.local_accuracy`. The profile times layers, collectives and the optimizer apart, before
any training; each layout is predicted from it, then trained for a few steps. Nothing is fitted. Raw samples go to
`benchmarks/results/local_accuracy.json`, from which `costmodel/uncertainty.py` has its half-width for measured shares.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from costmodel.spec import DeviceKind, Schedule
from planner.check import check
from planner.cli.profiling import ProfileChoices, choose, measure_here
from planner.cli.question import WorkloadFlags, build_job
from planner.cli.training import train
from planner.documents import write_document
from planner.job import Layout
from planner.models.presets import DEMO_MODEL
from planner.models.read import load_model

RESULTS = Path(__file__).parent / "results" / "local_accuracy.json"
NUM_RANKS = 2
NUM_ROUNDS = 1
LAYOUTS_PER_PROFILE = 4
"""A shared machine changes its speed over minutes; a profile speaks for the runs that follow it soon."""
STEPS = 12
PROFILE_BUDGET_S = 30.0

LAYOUTS = (
    *(Layout(dp=2, zero=zero, micro_batch=size) for zero in range(4) for size in (2, 8)),
    Layout(dp=2, zero=0, micro_batch=4, recompute="full"),
    Layout(tp=2, micro_batch=4),
    Layout(tp=2, micro_batch=8),
    Layout(pp=2, micro_batch=2, schedule=Schedule.ONE_F_ONE_B),
    Layout(pp=2, micro_batch=4, schedule=Schedule.ONE_F_ONE_B),
    Layout(pp=2, micro_batch=2, schedule=Schedule.GPIPE),
)


def main() -> int:
    """Measure all layouts and print one line each."""
    samples = [sample for number in range(NUM_ROUNDS) for sample in one_round(number)]
    errors = sorted(abs(sample["measured_s"] / sample["predicted_s"] - 1) for sample in samples)
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.processor() or platform.machine(),
        "versions": {name: metadata.version(name) for name in ("parallelism-planner", "torch", "transformers")},
        "model": DEMO_MODEL,
        "samples": samples,
        "time_error_median_frac": statistics.median(errors),
        "time_error_largest_frac": errors[-1],
        "inside_interval_frac": statistics.mean(sample["within_interval"] for sample in samples),
        "memory_error_largest_frac": max(abs(sample["memory_error_frac"]) for sample in samples),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    say(
        f"measured / predicted - 1: median {record['time_error_median_frac']:.1%}, largest "
        f"{record['time_error_largest_frac']:.1%}; {record['inside_interval_frac']:.0%} inside their intervals"
    )
    say(f"memory: largest error {record['memory_error_largest_frac']:.1%}")
    return 0


def one_round(number: int) -> list[dict[str, Any]]:
    """Predict and train each layout, a few after each profile."""
    groups = [LAYOUTS[start : start + LAYOUTS_PER_PROFILE] for start in range(0, len(LAYOUTS), LAYOUTS_PER_PROFILE)]
    return [sample for layouts in groups for sample in after_one_profile(number, layouts)]


def after_one_profile(number: int, layouts: Sequence[Layout]) -> list[dict[str, Any]]:
    """Profile, then predict and train each of `layouts`."""
    model = load_model(DEMO_MODEL)
    defaults = choose(model, DeviceKind.CPU, NUM_RANKS, None, None)
    choices = ProfileChoices(DeviceKind.CPU, NUM_RANKS, defaults.seq_len, defaults.precision, PROFILE_BUDGET_S)
    profile = measure_here(model, choices, lambda *_: None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        write_document(path, profile)
        job = build_job(NUM_RANKS, None, None, path, "native", WorkloadFlags())
    dispatch = profile.dispatch
    dispatch_s = None if dispatch is None else [dispatch.forward.median_s, dispatch.backward.median_s]
    samples = []
    for layout in layouts:
        plan_file = check(job, layout).plan_file
        assert plan_file is not None, layout
        measured = train(plan_file, None, steps=STEPS, seed=0, lr=3e-4, device="cpu", on_progress=lambda *_: None)
        assert measured is not None
        prediction = plan_file.prediction
        sample = {
            "round": number,
            "profile_variation_frac": profile.variation_frac,
            "profile_dispatch_s": dispatch_s,
            "predicted_half_width_frac": prediction.step_time_high_s / prediction.step_time_s - 1,
            "layout": {name: str(value) for name, value in layout.fixed().items()},
            "predicted_s": prediction.step_time_s,
            "measured_s": measured.step_time_median_s,
            "step_times_s": measured.step_times_s,
            "within_interval": measured.within_interval,
            "predicted_bytes": [stage.peak_bytes for stage in prediction.stages],
            "measured_bytes": measured.peak_memory_bytes,
            "memory_error_frac": prediction.peak_memory_bytes / max(measured.peak_memory_bytes) - 1,
        }
        samples.append(sample)
        say(
            f"{sample['layout']}: predicted {sample['predicted_s']:.3f} s, measured {sample['measured_s']:.3f} s "
            f"({sample['measured_s'] / sample['predicted_s'] - 1:+.1%}); memory {sample['memory_error_frac']:+.1%}"
        )
    return samples


def say(text: str) -> None:
    """One line on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
