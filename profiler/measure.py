"""Measures a model on this computer: starts the ranks, gathers their rounds, and makes a Profile of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from costmodel.errors import MissingError
from costmodel.host import provenance_here
from costmodel.spec import Profile, Provenance
from profiler.collectives import collective_samples
from profiler.contract import LayerFactory, ProfileRequest, RankLauncher
from profiler.differences import BLOCK
from profiler.dispatch import dispatch_sample
from profiler.host import host_memory
from profiler.kernels import kernel_rates
from profiler.layers import layer_samples
from profiler.links import GpuLinks, detect_links
from profiler.machine import Machine, cluster
from profiler.optimizer import load_optimizer, optimizer_samples
from profiler.rank import RankReport, Tell, measure_rank
from profiler.sharding import sharding_sample

NOISY_FRAC = 0.5
"""Variation of repeated times above which the user is warned: intervals then exceed 25 % to either side."""
TIMEOUT_BASE_S, TIMEOUT_PER_BUDGET = 600.0, 30.0
"""A model that is slow for its budget still gets its 5 rounds; after this long something hangs."""


def measure(
    request: ProfileRequest,
    layers: LayerFactory,
    run_ranks: RankLauncher,
    on_progress: Callable[[float, str], None] | None = None,
    *,
    notify: Callable[[str], None] | None = None,
    send_to_parent: Tell | None = None,
    prepare_rank: Callable[[], None] | None = None,
) -> Profile:
    """Time layers, collectives, optimizer and kernels on `request.num_ranks` ranks at once.

    `on_progress(share done in [0, 1], what is done now)` is called at the start and at the end, and in between where
    `send_to_parent` carries what a rank tells to the `on_message` of `run_ranks`. `notify` hears a sentence for each
    thing that makes the profile less trustworthy. `prepare_rank` is called on each rank before anything else: what
    training does to its process before it allocates, e.g. to the allocator, it must do here too.

    Raises BadInputError for a request that cannot be measured, MissingError where the device or its driver is not
    there, RunFailedError where a rank fails.
    """
    request.check()
    if request.device == "cuda" and not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
        raise MissingError("device is cuda, but this build of torch has no CUDA; install one that has, or use cpu")
    on_progress = on_progress or _nothing
    on_progress(0.0, "starting ranks")
    memory = host_memory()
    load_optimizer()
    reports: list[RankReport] = run_ranks(
        measure_rank,
        request.num_ranks,
        request,
        layers,
        (memory.total_bytes - memory.used_bytes) // request.num_ranks,
        prepare_rank or _nothing,
        send_to_parent or _nothing,
        timeout_s=TIMEOUT_BASE_S + TIMEOUT_PER_BUDGET * request.budget_s,
        device=request.device,
        on_message=_relay(on_progress),
    )
    first = reports[0]
    gpus = tuple(report.device for report in reports if report.device is not None)
    links = detect_links([gpu.uuid for gpu in gpus]) if gpus else None
    collectives = collective_samples(first.collective_cases, [report.collective_times for report in reports])
    rates = kernel_rates(first.kernel_cases, [report.kernel_times for report in reports])
    samples = layer_samples(first.layer_cases, first.saved_bytes, [report.layer_times for report in reports], request)
    dispatch = None
    if first.dispatch_tp is not None:
        dispatch = dispatch_sample(first.dispatch_tp, [report.dispatch_times for report in reports])
    sharding = None
    if first.sharding_times.size:
        num_params = request.model.layers[BLOCK].num_params()
        sharding = sharding_sample(num_params, [report.sharding_times for report in reports])
    profile = Profile(
        hf_config=dict(request.hf_config),
        model=request.model,
        cluster=cluster(request, Machine(memory, gpus, links, first.num_threads), rates, collectives),
        layers=samples,
        collectives=collectives,
        optimizer=optimizer_samples(first.param_counts, [report.optimizer_times for report in reports]),
        dispatch=dispatch,
        sharding=sharding,
        provenance=_provenance(request, first, links),
    )
    if notify is not None and (warning := noise_warning(profile)):
        notify(warning)
    on_progress(1.0, "done")
    return profile


def noise_warning(profile: Profile) -> str | None:
    """A sentence if the repeated times of the layers vary too much for a good prediction; else None."""
    frac = profile.variation_frac
    if frac <= NOISY_FRAC:
        return None
    return (
        f"the machine is busy: repeated times of a layer vary by {frac:.0%} of their median (10th to 90th percentile), "
        "so predictions from this profile have wide intervals; measure again on an idle machine"
    )


def _nothing(*_: object) -> None:
    """Where the caller wants nothing done."""


def _relay(on_progress: Callable[[float, str], None]) -> Callable[[int, Any], None]:
    """Passes on what the one rank that tells something tells."""
    return lambda _, message: on_progress(*message)


def _provenance(request: ProfileRequest, report: RankReport, links: GpuLinks | None) -> Provenance:
    return provenance_here(
        gpu=None if report.device is None else report.device.name,
        gpu_driver=None if links is None else links.driver,
        backend=report.backend,
        versions={"torch": torch.__version__, **request.versions},
        num_ranks=request.num_ranks,
        threads_per_rank=report.num_threads,
    )
