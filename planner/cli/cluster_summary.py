"""What is shown of clusters and measured collectives: as a JSON object, and as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from costmodel import units
from costmodel.spec import ClusterSpec, CollectiveTable, Device, Node, NodeGroup, Source
from planner.cli.console import line, table
from planner.clusters.stated_tiers import STATED


def cluster_object(cluster: ClusterSpec) -> dict[str, Any]:
    """The cluster, with what its figures come to."""
    return {
        **cluster.model_dump(mode="json"),
        "num_devices": cluster.num_devices,
        "num_nodes": len(cluster.node_sizes),
        "device": cluster.device.model_dump(mode="json"),
        "memory_limit_bytes": cluster.device.memory_limit_bytes,
        "assumed_figures": {device.name: list(device.assumed_figures) for device in cluster.devices},
    }


def print_cluster(console: Console, cluster: ClusterSpec) -> None:
    """A cluster in a few lines, each figure with its source."""
    console.print(line(f"{cluster.name}: {units.counted(cluster.num_devices, cluster.device_noun)}", "bold"))
    for group in cluster.nodes:
        console.print(line(f"{_machines(group)}."))
    for device in cluster.devices:
        _print_device(console, device)
    rows = [
        (
            tier.name,
            _sizes(tier.sizes(cluster.num_devices)),
            tier.link.value,
            units.format_rate(tier.bandwidth_bytes_per_s),
            units.format_seconds(tier.latency_s),
            tier.source.value,
        )
        for tier in cluster.tiers
    ]
    if rows:
        console.print(table(("tier", "devices", "link", f"per {cluster.device_noun}", "hop", "source"), rows))
    for text in dict.fromkeys(_notes(cluster)):
        console.print(line(text, "dim"))
    for sentence in _tables(cluster):
        console.print(line(sentence))


def _notes(cluster: ClusterSpec) -> Iterator[str]:
    """Where the figures come from; of machines and devices with their names where there are several."""
    nodes = [group.node for group in cluster.nodes]
    for node in nodes:
        if node.note:
            is_alone = all(other.note == node.note for other in nodes)
            yield node.note if is_alone else f"{node.name or node.device.name}: {node.note}"
    for device in cluster.devices:
        if device.note:
            yield device.note if len(cluster.devices) == 1 else f"{device.name}: {device.note}"
    for tier in cluster.tiers:
        # That a link is stated without a source is said among what is assumed.
        if tier.note and tier.note != STATED:
            yield f"{tier.name}: {tier.note}"


def _tables(cluster: ClusterSpec) -> Iterator[str]:
    """Which collectives were measured over how many ranks, here and by others."""
    by_source: dict[bool, dict[str, set[int]]] = {}
    for found in cluster.tables:
        ranks = by_source.setdefault(found.source is Source.MEASURED, {}).setdefault(found.collective.value, set())
        ranks.add(found.num_ranks or 0)
    for measured, ops in by_source.items():
        groups: dict[tuple[int, ...], list[str]] = {}
        for op, ranks in ops.items():
            groups.setdefault(tuple(sorted(ranks)), []).append(op)
        what = "; ".join(f"{', '.join(ops)} over {', '.join(map(str, ranks))} ranks" for ranks, ops in groups.items())
        yield f"{'Measured' if measured else 'Published'} times of collectives: {what}."


def _machines(group: NodeGroup) -> str:
    name = group.node.name
    count = f"{group.num_nodes:,} x {name}" if name else units.counted(group.num_nodes, "machine")
    return f"{count} with {', '.join(_facts(group.node))}"


def _facts(node: Node) -> list[str]:
    facts = [f"{node.num_devices} x {node.device.name}"]
    if node.nics is not None:
        rate = units.format_rate(node.nics.bandwidth_bytes_per_s)
        facts.append(f"{units.counted(node.nics.count, f'{node.nics.link.value} adapter')} of {rate}")
    if node.host_memory_bytes is not None:
        facts.append(f"{units.format_bytes(node.host_memory_bytes)} of host memory")
    if node.num_cores is not None:
        facts.append(units.counted(node.num_cores, "core"))
    if node.price_usd_per_device_hour is not None:
        facts.append(f"{node.price_usd_per_device_hour:g} USD per device and hour")
    if node.site:
        facts.append(f"at {node.site}")
    return facts


def _print_device(console: Console, device: Device) -> None:
    peaks = ", ".join(f"{name.value} {units.format_flop_rate(peak)}" for name, peak in device.peak_flop_per_s.items())
    console.print(
        line(
            f"{device.name} ({device.kind.value}, {_source(device)}): {peaks} dense peak; GEMM reaches "
            f"{units.format_frac(device.gemm_efficiency_frac)}, attention "
            f"{units.format_frac(device.attention_efficiency_frac)}; {units.format_bytes(device.memory_bytes)} at "
            f"{units.format_rate(device.mem_bandwidth_bytes_per_s)}, of which a process may allocate "
            f"{units.format_bytes(device.memory_limit_bytes)}."
        )
    )


def _source(device: Device) -> str:
    """What its figures are worth; of a device that is assumed for some of them only, which."""
    which = ", ".join(device.assumed_figures)
    return f"{device.source.value}: {which}" if which else device.source.value


def _sizes(sizes: Sequence[int]) -> str:
    """`8`, or `8 and 4` where the units differ."""
    return " and ".join(str(size) for size in sorted(set(sizes), reverse=True))


def collectives_object(found: CollectiveTable) -> dict[str, Any]:
    """What one run of nccl-tests measured."""
    return {
        "collective": found.collective.value,
        "num_ranks": found.num_ranks,
        "num_nodes": found.num_nodes,
        "devices": list(found.devices),
        "samples": [{**sample.model_dump(mode="json"), "enters_fit": sample.enters_fit} for sample in found.samples],
        "warnings": list(found.warnings),
    }


def print_collectives(console: Console, found: CollectiveTable) -> None:
    """A run in a few lines: its sizes with time and bus bandwidth."""
    console.print(line(_table_sentence(found), "bold"))
    rows = [
        (
            units.format_bytes(sample.bytes),
            units.format_seconds(sample.time_s),
            units.format_rate(sample.busbw_bytes_per_s),
            "" if sample.enters_fit else "no",
        )
        for sample in found.samples
    ]
    console.print(table(("size", "time", "bus bandwidth", "used"), rows))
    for warning in found.warnings:
        console.print(line(f"Warning: {warning}.", "yellow"))


def _table_sentence(found: CollectiveTable) -> str:
    ranks = "an unknown number of ranks" if found.num_ranks is None else units.counted(found.num_ranks, "rank")
    if (found.num_nodes or 1) > 1:
        ranks += f" on {found.num_nodes} machines"
    devices = f" of {', '.join(found.devices)}" if found.devices else ""
    return f"{found.collective.value} over {ranks}{devices}, {units.counted(len(found.samples), 'size')}"
