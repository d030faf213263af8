"""The cluster that a run describes: the preset of its GPU, with the node and the network that its source states."""

from __future__ import annotations

import re
from functools import cache

from costmodel.spec import ClusterSpec, Source
from planner.clusters.links import NIC_EFFICIENCY_FRAC
from planner.clusters.presets import preset_named, similar, usual_size
from planner.clusters.read import load_cluster
from planner.validation.configuration import Configuration
from planner.validation.unsaid import Unsaid, faulty

BYTES_PER_GBIT = 1e9 / 8

_GPUS: tuple[tuple[str, str], ...] = (
    (r"gb300", "gb300"),
    (r"gb200", "gb200"),
    (r"gh200.*144", "gh200-144gb"),
    (r"gh200", "gh200-96gb"),
    (r"b300", "b300"),
    (r"b200", "b200"),
    (r"h200.*nvl", "h200-nvl"),
    (r"h200", "h200-sxm"),
    (r"h100.*nvl", "h100-nvl"),
    (r"h100.*pcie", "h100-pcie"),
    (r"h100", "h100-sxm"),
    (r"h800", "h800-sxm"),
    (r"\bh20\b", "h20"),
    (r"a100.*40.*pcie|a100.*pcie.*40", "a100-pcie-40gb"),
    (r"a100.*pcie", "a100-pcie-80gb"),
    (r"a100.*40", "a100-sxm-40gb"),
    (r"a100", "a100-sxm-80gb"),
    (r"a800", "a800-sxm-80gb"),
    (r"v100.*pcie.*32|v100.*32.*pcie", "v100-pcie-32gb"),
    (r"v100.*pcie", "v100-pcie-16gb"),
    (r"v100.*32", "v100-sxm-32gb"),
    (r"v100", "v100-sxm-16gb"),
    (r"mi250", "mi250x"),
    (r"mi300", "mi300x"),
    (r"mi325", "mi325x"),
    (r"mi350", "mi350x"),
    (r"mi355", "mi355x"),
)
"""The first pattern that is found in the name, in lower case, decides; other names may be those of presets."""

_MODEL = re.compile(r"\b(?:g?[abh]|v|mi)\d{2,3}")
_STATED_MEMORY = re.compile(r"\d\s*gi?b", re.I)
_TWO_SIZES = {"a100-sxm-80gb", "v100-sxm-16gb"}
"""What is taken where a name leaves open which of two memories the GPU has."""


def preset_of(gpu: str) -> str | Unsaid:
    """The preset of the GPU that a source calls `gpu`."""
    lower = gpu.lower()
    if len(set(_MODEL.findall(lower))) > 1:
        return faulty(f"gpu is {gpu!r}, which may be one or another")
    found = next((preset for pattern, preset in _GPUS if re.search(pattern, lower)), None) or preset_named(gpu)
    if found is not None:
        return found
    close = similar(gpu)
    hint = f"did you mean {', '.join(close)}" if close else "`planner clusters` lists the presets"
    return faulty(f"gpu is {gpu!r}, which no preset is called; {hint}")


def cluster_of(run: Configuration) -> tuple[ClusterSpec, tuple[str, ...]] | Unsaid:
    """The cluster, and what was assumed of it."""
    preset = preset_of(run.gpu)
    if isinstance(preset, Unsaid):
        return preset
    notes = []
    if preset in _TWO_SIZES and not _STATED_MEMORY.search(run.gpu):
        notes.append(f"memory of the {run.gpu} not stated, taken as {preset}")
    spec = _preset(preset, run.n_gpus)
    size = min(run.gpus_per_node or usual_size(preset), run.n_gpus)
    if size != spec.devices_per_node and not _joins_racks(preset):
        spec = _of_other_machines(preset, size, run.n_gpus)
    if not spec.tiers or not spec.tiers[-1].link.is_network:
        return spec, tuple(notes)
    rate = network_rate_bytes_per_s(run)
    if rate is None:
        notes.append(f"network not stated, taken as that of {preset}")
        return spec, tuple(notes)
    network = spec.tiers[-1].model_copy(
        update={
            "bandwidth_bytes_per_s": NIC_EFFICIENCY_FRAC * rate,
            "source": Source.ANALYTIC,
            "note": run.inter_node or "as the run's source states it",
        }
    )
    # Times that were measured over another network say nothing of this one.
    tables = tuple(table for table in spec.tables if table.num_nodes == 1)
    return ClusterSpec(name=spec.name, nodes=spec.nodes, tiers=(*spec.tiers[:-1], network), tables=tables), tuple(notes)


def _joins_racks(preset: str) -> bool:
    """Whether the innermost links join several machines, so that the size of one does not matter."""
    return _preset(preset, 4 * usual_size(preset)).tiers[0].num_devices > usual_size(preset)


def _of_other_machines(preset: str, size: int, num_gpus: int) -> ClusterSpec:
    """The preset in machines of `size` GPUs: the same links, but not the times measured in its usual machine.

    The tier that reaches the edge of the machine grows or shrinks with it; those inside stay where their units make up
    the machine.
    """
    usual = _preset(preset, 4 * usual_size(preset))
    inside = [tier for tier in usual.tiers if tier.num_devices <= usual_size(preset)]
    between, network = usual.tiers[len(inside) : -1], usual.tiers[-1]
    edge = next((tier for tier in inside if tier.num_devices >= size), inside[-1])
    tiers = [tier for tier in inside if tier.num_devices < min(size, edge.num_devices) and not size % tier.num_devices]
    tiers.append(edge.model_copy(update={"num_devices": size}))
    if num_gpus > size:
        tiers += [tier for tier in between if size < tier.num_devices < num_gpus and not tier.num_devices % size]
        tiers.append(network.model_copy(update={"num_devices": num_gpus}))
    return ClusterSpec.uniform(usual.name, usual.device, num_gpus, tuple(tiers))


def network_rate_bytes_per_s(run: Configuration) -> float | None:
    """What the network moves per GPU and direction at its line rate: as stated per GPU, else read out of the text."""
    if run.nic_gbit_per_s_per_gpu is not None:
        return run.nic_gbit_per_s_per_gpu * BYTES_PER_GBIT
    return _rate_in_words(run.inter_node or "", run.gpus_per_node)


_RATE = re.compile(r"(?:(\d+)\s*x\s*)?(?:[a-z ]*?)(\d+(?:\.\d+)?)\s*(gb/s|gbit/s|gbps|gbyte/s)", re.I)
_PER_GPU = re.compile(r"per gpu|/gpu", re.I)


def _rate_in_words(text: str, gpus_per_node: int | None) -> float | None:
    """`4x100 Gb/s per node` is shared by the GPUs of the node; `GB/s` are bytes, `Gb/s` bits."""
    found = _RATE.search(text)
    if found is None:
        return None
    count, number, unit = found.groups()
    in_bytes = "GB" in unit or "byte" in unit.lower()
    rate = int(count or 1) * float(number) * (1e9 if in_bytes else BYTES_PER_GBIT)
    if rate <= 0 or (gpus_per_node is None and not _PER_GPU.search(text)):
        return None
    return rate if _PER_GPU.search(text) else rate / (gpus_per_node or 1)


@cache
def _preset(name: str, num_gpus: int) -> ClusterSpec:
    """Read once: hundreds of runs share a few machines."""
    return load_cluster(name, num_gpus).spec
