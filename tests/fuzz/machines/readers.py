"""The readers of clusters, topologies and collectives: their samples, and what has to hold of whatever they accept."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from costmodel.collectives import by_formula, tables
from costmodel.errors import EXIT_BAD_INPUT, EXIT_MISSING, EXIT_OK, BadInputError, MissingError
from costmodel.spec import ClusterSpec, Collective, CollectiveTable, Device, NodeTopology, Source
from planner.cli.main import run
from planner.clusters import nccl_tests, topology
from planner.clusters.graph import cluster_graph
from planner.clusters.islands import islands_of_cluster
from planner.clusters.node_links import levels_of_topology
from planner.clusters.presets import FOLDER, preset_path
from planner.clusters.read import load_cluster
from planner.clusters.rings import Axis, rings_of_cluster
from tests.fuzz.byte_mutator import mutate_bytes
from tests.fuzz.machines.key_values import replace_values

CLUSTERS = Path(__file__).parents[2] / "clusters"
MAX_SENTENCE = 2000


class Finding(AssertionError):  # noqa: N818
    """Something that must not be, with the input that shows it."""

    def __init__(self, what: str, content: bytes) -> None:
        super().__init__(what)
        self.content = content


@dataclass(frozen=True)
class Reader:
    """One reader with the files that mutants are made of."""

    suffix: str
    samples: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], None]
    """Reads the file and raises AssertionError where what it accepts does not hold."""


def _files(folder: Path, pattern: str) -> Callable[[], tuple[bytes, ...]]:
    @cache
    def load() -> tuple[bytes, ...]:
        found = tuple(path.read_bytes() for path in sorted(folder.glob(pattern)))
        assert found, f"no samples {folder / pattern}"
        return found

    return load


@cache
def _gpu() -> Device:
    device = load_cluster("h100-sxm", 8).spec.device
    return device.model_copy(update={"peer_link_bytes_per_s": 20.6e9, "pcie_bytes_per_s": 63e9})


def _topology(path: Path) -> None:
    found = topology.read_topology(path.name, "here", path.parent)
    assert NodeTopology.from_json(found.to_json(), "again") == found
    levels = levels_of_topology(found, _gpu(), "here")
    assert all(sum(tier.sizes(len(found.gpus))) == len(found.gpus) for tier in levels.tiers)


def _collectives(path: Path) -> None:
    for found in nccl_tests.read_tables([path.name], "here", path.parent, Source.MEASURED):
        _check_table(found.table)


def _check_table(found: CollectiveTable) -> None:
    assert CollectiveTable.from_json(found.to_json(), "again") == found
    times = found.times
    assert all(size > 0 and time_s > 0 for size, time_s in times)
    assert all(one <= other for (_, one), (_, other) in pairwise(times))


def _cluster(path: Path) -> None:
    spec = load_cluster(str(path), None).spec
    assert ClusterSpec.from_json(spec.to_json(), "again") == spec
    assert sum(spec.node_sizes) == spec.num_devices
    part = load_cluster(str(path), min(3, spec.num_devices)).spec
    assert part.num_devices == min(3, spec.num_devices)
    if spec.num_devices <= 4096:
        assert sum(kind == "device" for kind, _, _ in cluster_graph(spec)) == spec.num_devices
        assert sum(len(found.ranks) * found.count for found in islands_of_cluster(spec)) <= spec.num_devices
        (ring,) = rings_of_cluster(spec, (Axis("tp", spec.num_devices),))
        assert sum(number for kind in ring.kinds for _, number in kind.hops) == spec.num_devices - 1
    if spec.num_devices > 1:
        for op in Collective:
            timed = tables.lookup(spec, op, 2, 1, 1e6) or by_formula(spec, op, 2, 1, 1e6)
            assert 0 < timed.time_s < 1e12


def _names_it(key: str, given: str) -> Callable[[Path], None]:
    """Reads a cluster whose `key` names the input."""

    def read(path: Path) -> None:
        file = path.with_name("cluster.yaml")
        file.write_text(f"device: {{preset: a100-sxm-80gb, pcie_bytes_per_s: 31 GB/s}}\n{key}: {given}\n", "utf-8")
        _cluster(file)

    return read


def _show(path: Path) -> None:
    """`planner show`, which finds out by itself what the input is."""
    data = json.loads(_shown(str(path), "--json"))
    assert data["kind"]
    assert _shown(str(path)).strip()


def _shown(*arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["show", *arguments])
    if code in (EXIT_BAD_INPUT, EXIT_MISSING):
        raise BadInputError(err.getvalue())
    assert code == EXIT_OK, err.getvalue()
    return out.getvalue()


def _all(*samples: Callable[[], tuple[bytes, ...]]) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple(content for some in samples for content in some())


@cache
def _as_json() -> tuple[bytes, ...]:
    names = sorted(path.stem for path in FOLDER.glob("*.yaml") if preset_path(path.stem) is not None)[:6]
    return tuple(load_cluster(name, 12).spec.to_json().encode() for name in names)


_TOPOLOGIES = _files(CLUSTERS / "topology", "*.txt")
_OUTPUTS = _files(CLUSTERS / "nccl_tests", "*.txt")
_CLUSTERS = _files(CLUSTERS / "files", "*.yaml")

READERS = {
    "topology": Reader(".txt", _TOPOLOGIES, _topology),
    "collectives": Reader(".txt", _OUTPUTS, _collectives),
    "table": Reader(".csv", _files(FOLDER / "collectives", "*.csv"), _collectives),
    "cluster_yaml": Reader(".yaml", _CLUSTERS, _cluster),
    "cluster_json": Reader(".json", _as_json, _cluster),
    "cluster_topology": Reader(".txt", _TOPOLOGIES, _names_it("topology", "input.txt")),
    "cluster_collectives": Reader(".txt", _OUTPUTS, _names_it("collectives", "[input.txt]")),
    "show": Reader(".txt", _all(_TOPOLOGIES, _OUTPUTS, _CLUSTERS, _as_json), _show),
    "show_json": Reader(".json", _all(_as_json, _TOPOLOGIES), _show),
}


def try_one(name: str, seed: int, index: int) -> bool:
    """Whether mutant `index` of a reader is accepted; raises Finding for anything but a value or one clear error."""
    rng = random.Random(f"{name}.{seed}.{index}")
    samples = READERS[name].samples()
    return try_content(name, mutate(rng, rng.choice(samples), samples))


def try_content(name: str, content: bytes) -> bool:
    """The same for one input."""
    reader = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        for beside in ("topology", "nccl_tests"):
            (Path(folder) / beside).symlink_to(CLUSTERS / beside)
        path = Path(folder) / "files" / f"input{reader.suffix}"
        path.parent.mkdir()
        path.write_bytes(content)
        try:
            reader.read(path)
        except (BadInputError, MissingError) as error:
            said = str(error)
            if "\n" in said.strip() or len(said) > MAX_SENTENCE or ":" not in said:
                raise Finding(f"not one clear sentence: {said[:3000]!r}", content) from None
            return False
        except Exception:  # noqa: BLE001
            raise Finding(traceback.format_exc(), content) from None
    return True


def mutate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Bytes changed blindly, words and lines of a table moved about, or values of keys replaced."""
    chance = rng.random()
    if chance < 0.3:
        return mutate_bytes(rng, data, others)
    if chance < 0.6:
        replaced = replace_values(rng, data)
        if replaced is not None:
            return replaced
    lines = data.decode("utf-8", errors="replace").split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        lines = rng.choice(LINE_MUTATIONS)(rng, lines)
    return "\n".join(lines).encode("utf-8", errors="replace")


WORDS = (
    "X", "NV18", "NV99", "PIX", "SYS", "NODE", "GPU0", "GPU7", "GPU99", "NIC0", "OK", "0", "-1", "N/A", "nan", "inf",
    "1e400", "9" * 30, "float", "half", "sum", "none", "0.00", "1", "true", "null", "[]", "{}", "8 GiB", "400 Gbit/s",
    "h100-sxm", "\x1b[31m", "\u202e", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)  # fmt: skip


def _word(rng: random.Random, lines: list[str]) -> list[str]:
    place = rng.randrange(len(lines))
    words = lines[place].split(" ")
    full = [index for index, word in enumerate(words) if word]
    if full:
        words[rng.choice(full)] = rng.choice(WORDS)
    return [*lines[:place], " ".join(words), *lines[place + 1 :]]


def _drop_word(rng: random.Random, lines: list[str]) -> list[str]:
    place = rng.randrange(len(lines))
    words = lines[place].split()
    if words:
        words.pop(rng.randrange(len(words)))
    return [*lines[:place], " ".join(words), *lines[place + 1 :]]


def _drop_line(rng: random.Random, lines: list[str]) -> list[str]:
    place = rng.randrange(len(lines))
    return [*lines[:place], *lines[place + 1 :]] or [""]


def _repeat_line(rng: random.Random, lines: list[str]) -> list[str]:
    place = rng.randrange(len(lines))
    return [*lines[:place], *[lines[place]] * rng.choice((1, 2, 50)), *lines[place:]]


def _move_line(rng: random.Random, lines: list[str]) -> list[str]:
    line = lines[rng.randrange(len(lines))]
    lines = [other for other in lines if other is not line]
    lines.insert(rng.randrange(len(lines) + 1), line)
    return lines


def _squeeze(rng: random.Random, lines: list[str]) -> list[str]:
    between = rng.choice(("", " ", "\t"))
    return [between.join(line.split()) for line in lines]


def _prefix(rng: random.Random, lines: list[str]) -> list[str]:
    prefix = rng.choice(("0: ", "[1,0]<stdout>:", "host: ", "# ", "> ", "2026-01-01T00:00:00Z "))
    return [prefix + line for line in lines]


LINE_MUTATIONS = (_word, _word, _word, _drop_word, _drop_line, _repeat_line, _move_line, _squeeze, _prefix)
