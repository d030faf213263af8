"""What is listed of a preset: its figures as they were published, whether or not they make a whole cluster."""

from __future__ import annotations

from typing import Any

from costmodel import units
from costmodel.spec import LinkKind, Precision
from planner.clusters.presets import device_data, gpu_of, preset_data, usual_size

GPU_COLUMNS = ("GPU", "device", "memory", "dense peak", "other formats", "per node", "links per GPU")
MACHINE_COLUMNS = ("machine", "GPUs", "links", "host memory", "USD per GPU and hour")


def listed(name: str) -> dict[str, Any]:
    """The preset `name` as an object: its kind, its GPU, and all figures of both, null where nobody published one."""
    data = preset_data(name)
    gpu = gpu_of(name)
    rest = {key: value for key, value in data.items() if key not in {"schema", "name", "device", "devices_per_node"}}
    return {
        "name": name,
        "kind": "gpu" if gpu == name else "machine",
        "gpu": gpu,
        "devices_per_node": usual_size(name),
        **rest,
        "device": device_data(gpu),
        "inner_link": {key: preset_data(gpu)["tiers"][0][key] for key in ("link", "bandwidth_bytes_per_s")},
    }


def gpu_row(gpu: dict[str, Any]) -> tuple[str, ...]:
    """Cells of GPU_COLUMNS; bandwidths are those that collectives reach per GPU and direction."""
    network = next(tier for tier in gpu["tiers"] if LinkKind(tier["link"]).is_network)
    inside = [gpu["inner_link"]] if gpu["inner_link"]["link"] != network["link"] else []
    device = gpu["device"]
    memory_bytes = device["memory_bytes"]
    return (
        gpu["name"],
        device["name"],
        "not published" if memory_bytes is None else units.format_bytes(memory_bytes),
        _peak(device["peak_flop_per_s"]),
        " ".join(name for name in device["peak_flop_per_s"] or () if name not in list(Precision)),
        str(gpu["devices_per_node"]),
        ", ".join(_link(link) for link in [*inside, network]),
    )


def machine_row(machine: dict[str, Any]) -> tuple[str, ...]:
    """Cells of MACHINE_COLUMNS; adapters by their line rate."""
    nics, memory_bytes = machine["nics"], machine.get("host_memory_bytes")
    price = machine.get("price_usd_per_device_hour")
    return (
        machine["name"],
        f"{machine['devices_per_node']} x {machine['gpu']}",
        f"{_link(machine['inner_link'])}, {nics['count']} x {_link(nics)}",
        "" if memory_bytes is None else units.format_bytes(memory_bytes),
        "" if price is None else f"{price:.2f}",
    )


def _peak(peaks: dict[str, float] | None) -> str:
    """In the precision that one trains in: bf16, else fp16."""
    if peaks is None:
        return "not published"
    precision = next(kind.value for kind in (Precision.BF16, Precision.FP16, Precision.FP32) if kind.value in peaks)
    return f"{units.format_flop_rate(peaks[precision])} {precision}"


def _link(link: dict[str, Any]) -> str:
    return f"{link['link']} {units.format_rate(link['bandwidth_bytes_per_s'])}"
