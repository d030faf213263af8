"""What is shown of a machine that a tool of its driver describes: as a JSON object, and as lines for a person."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console

from costmodel.spec import NodeTopology, PathKind
from costmodel.units import counted
from planner.cli.console import line, table
from planner.cli.joins_summary import named_in_short

MEANINGS = {
    PathKind.NVLINK: "as many NVLinks, direct or behind a switch",
    PathKind.XGMI: "links between GPUs of AMD",
    PathKind.PIX: "one PCIe bridge at most",
    PathKind.PXB: "several PCIe bridges, not the host",
    PathKind.PCIE: "PCIe, which way is not said",
    PathKind.PHB: "PCIe through the CPU's host bridge",
    PathKind.NODE: "PCIe between host bridges of a NUMA node",
    PathKind.SYS: "PCIe and across sockets or NUMA nodes",
}
"""What the cells of the tools mean."""


def topology_object(topology: NodeTopology) -> dict[str, Any]:
    """The machine, pair by pair, and the adapters that are nearest to every GPU."""
    return {
        "num_gpus": len(topology.gpus),
        "num_nics": len(topology.nics),
        "links": [{"pair": list(pair.pair), "kind": pair.label} for pair in topology.pairs],
        "nics": {name: topology.nic_devices.get(name) for name in topology.nics},
        "nearest_nics": {
            gpu: {"kind": None if kind is None else kind.value, "nics": list(nics)}
            for gpu, (kind, nics) in _nearest_nics(topology).items()
        },
        "numa_of_gpu": topology.numa_of_gpu,
        "warnings": list(topology.warnings),
    }


def print_topology(console: Console, topology: NodeTopology, tool: str) -> None:
    """A machine in a few lines: pairs by what joins them, what that means, and the adapters near every GPU."""
    gpus = counted(len(topology.gpus), "GPU")
    console.print(line(f"{gpus}, {counted(len(topology.nics), 'network adapter')}, by {tool}", "bold"))
    names = set(topology.gpus)
    between: Counter[tuple[str, str, PathKind]] = Counter()
    for pair in topology.pairs:
        num_gpus = len(set(pair.pair) & names)
        if num_gpus:
            what = "GPU and GPU" if num_gpus == 2 else "GPU and adapter"
            between[what, pair.label, pair.kind] += 1
    rows = [
        (what, label, str(count), MEANINGS[kind])
        for what in ("GPU and GPU", "GPU and adapter")
        for (other, label, kind), count in between.most_common()
        if other == what
    ]
    if rows:
        console.print(table(("between", "link", "pairs", "meaning"), rows))
    nearest = _nearest_sentence(topology)
    if nearest:
        console.print(line(nearest))
    for warning in topology.warnings:
        console.print(line(f"Warning: {warning}.", "yellow"))


def _nearest_nics(topology: NodeTopology) -> dict[str, tuple[PathKind | None, tuple[str, ...]]]:
    """By GPU the adapters that it reaches over the fewest parts, and over what; none where the tool says of none."""
    order = list(PathKind)
    found: dict[str, tuple[PathKind | None, tuple[str, ...]]] = {}
    for gpu in topology.gpus:
        pairs = {nic: pair.kind for nic in topology.nics if (pair := topology.between(gpu, nic)) is not None}
        kind = min(pairs.values(), key=order.index, default=None)
        found[gpu] = (kind, tuple(nic for nic, other in pairs.items() if other is kind))
    return found


def _nearest_sentence(topology: NodeTopology) -> str:
    """`Nearest adapters: GPU0 NIC0, GPU1 NIC1 (PIX)`, GPUs of the same ones together; empty without adapters."""
    alike: dict[tuple[PathKind, tuple[str, ...]], list[str]] = {}
    for gpu, (kind, nics) in _nearest_nics(topology).items():
        if kind is not None:
            alike.setdefault((kind, nics), []).append(gpu)
    texts = [
        f"{named_in_short(gpus, 'GPU')} {named_in_short(nics, 'NIC')} ({kind.value})"
        for (kind, nics), gpus in alike.items()
    ]
    return f"Nearest adapters: {', '.join(texts)}." if texts else ""
