"""What is shown of profiles and measurements: as a JSON object, and as lines for a person."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from costmodel import units
from costmodel.spec import Measurement, Profile
from costmodel.uncertainty import LOCAL_TIME_FRAC
from planner.cli.cluster_summary import print_cluster
from planner.cli.console import line, table


def profile_object(profile: Profile) -> dict[str, Any]:
    """What a profile holds, without its samples."""
    return {
        "model": profile.model.name,
        "cluster": profile.cluster.model_dump(mode="json"),
        "num_layer_samples": len(profile.layers),
        "num_collective_samples": len(profile.collectives),
        "num_optimizer_samples": len(profile.optimizer),
        "variation_frac": profile.variation_frac,
        "provenance": profile.provenance.model_dump(mode="json"),
    }


def print_profile(console: Console, profile: Profile) -> None:
    """The layers at one rank, the largest message of each collective, and the machine."""
    print_cluster(console, profile.cluster)
    layers = [
        (
            sample.layer.kind,
            str(sample.micro_batch),
            str(sample.tp),
            units.format_seconds(sample.forward.median_s),
            units.format_seconds(sample.backward.median_s),
            units.format_bytes(sample.saved_bytes),
        )
        for sample in profile.layers
    ]
    console.print()
    console.print(table(("layer", "micro-batch", "tp", "forward", "backward", "kept"), layers, "Layers"))
    largest = {
        (sample.op, sample.num_ranks): sample for sample in sorted(profile.collectives, key=lambda s: s.size_bytes)
    }
    links = [
        (
            sample.op.value,
            str(sample.num_ranks),
            units.format_bytes(sample.size_bytes),
            units.format_seconds(sample.time.median_s),
        )
        for sample in largest.values()
    ]
    if links:
        console.print()
        console.print(table(("collective", "ranks", "size", "time"), links, "Links, largest message"))
    console.print()
    provenance = profile.provenance
    console.print(
        line(
            f"Measured on {provenance.device} with {provenance.num_ranks} ranks of {provenance.threads_per_rank} "
            f"threads, {provenance.date}; repeated times vary by {units.format_frac(profile.variation_frac)}."
        )
    )


def measurement_object(measurement: Measurement) -> dict[str, Any]:
    """A measurement as it stands in its file, with the ratio of measured to predicted step time."""
    data = measurement.model_dump(mode="json")
    data["measured_over_predicted"] = measurement.step_time_median_s / measurement.predicted_step_time_s
    return data


def print_measurement(console: Console, measurement: Measurement) -> None:
    """What a run showed, beside what was predicted."""
    losses = measurement.losses
    console.print(
        line(f"Loss {losses[0]:.3f} -> {losses[-1]:.3f} in {len(losses)} steps of plan {measurement.plan_id}.")
    )
    console.print(line(step_sentence(measurement), "bold"))
    console.print(line(memory_sentence(measurement)))


def step_sentence(measurement: Measurement) -> str:
    """Measured against predicted step time, in one sentence."""
    low_s, high_s = measurement.predicted_step_time_low_s, measurement.predicted_step_time_high_s
    place = "lies within" if measurement.within_interval else "lies OUTSIDE"
    return (
        f"Measured {units.format_seconds(measurement.step_time_median_s)} per step (median after warm-up), "
        f"predicted {units.format_seconds(measurement.predicted_step_time_s)}: the measured time {place} "
        f"the interval {units.format_seconds_range(low_s, high_s)}."
    )


def noise_sentences(measurement: Measurement, profile: Profile | None) -> tuple[str, ...]:
    """What may be the reason of a time outside the interval: repeated times as far apart as the interval is wide."""
    if measurement.within_interval or profile is None or profile.variation_frac < LOCAL_TIME_FRAC:
        return ()
    varied = units.format_frac(profile.variation_frac)
    return (
        f"Repeated times varied by {varied} while this machine was profiled, so noise may be the reason: profile again "
        "when the machine is idle, then solve and run.",
    )


def memory_sentence(measurement: Measurement) -> str:
    """Measured against predicted peak memory of the worst rank, in one sentence."""
    peak = max(measurement.peak_memory_bytes)
    predicted = measurement.predicted_peak_memory_bytes
    return (
        f"Peak memory {units.format_bytes(peak)} on the worst rank ({measurement.memory_counter}), "
        f"predicted {units.format_bytes(predicted)} (measured {peak / predicted - 1:+.1%})."
    )
