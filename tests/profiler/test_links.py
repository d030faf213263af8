"""NVLink or PCIe, as NVML tells it; a fake NVML plays machines that are not here."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from costmodel.errors import MissingError
from costmodel.spec import LinkKind
from profiler.links import detect_links


class NVMLError(Exception):
    pass


class NotSupportedError(NVMLError):
    pass


class InvalidArgumentError(NVMLError):
    pass


@dataclass(frozen=True)
class PciInfo:
    busId: str  # noqa: N815 (the name that NVML uses)


@dataclass
class FakeNvml:
    """`nvlinks[i]` lists what the links of GPU i lead to: another GPU, "switch", or None for a link that is off."""

    nvlinks: list[list[int | str | None]]
    common_ancestor: int = 50
    broken: bool = False
    num_open: int = field(default=0, init=False)

    NVMLError = NVMLError
    NVMLError_NotSupported = NotSupportedError
    NVMLError_InvalidArgument = InvalidArgumentError
    NVML_NVLINK_MAX_LINKS = 36
    NVML_FEATURE_ENABLED = 1
    NVML_NVLINK_DEVICE_TYPE_SWITCH = 2

    def nvmlInit(self) -> None:  # noqa: N802
        if self.broken:
            raise NVMLError("Driver Not Loaded")
        self.num_open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.num_open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "550.54.15"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> list[object]:  # noqa: N802
        return self.handles[int(uuid.removeprefix("GPU-"))]

    def __post_init__(self) -> None:
        self.handles = [[index] for index in range(len(self.nvlinks))]

    def _link(self, gpu: list[int], link: int) -> int | str | None:
        links = self.nvlinks[gpu[0]]
        if not links:
            raise NotSupportedError("Not Supported")
        if link >= len(links):
            raise InvalidArgumentError("Invalid Argument")
        return links[link]

    def nvmlDeviceGetNvLinkState(self, gpu: list[int], link: int) -> int:  # noqa: N802
        return 0 if self._link(gpu, link) is None else 1

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: list[int], link: int) -> int:  # noqa: N802
        return 2 if self._link(gpu, link) == "switch" else 0

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: list[int], link: int) -> PciInfo:  # noqa: N802
        return PciInfo(f"0000:{self._link(gpu, link):02d}:00.0")

    def nvmlDeviceGetPciInfo(self, gpu: list[int]) -> PciInfo:  # noqa: N802
        return PciInfo(f"0000:{gpu[0]:02d}:00.0")

    def nvmlDeviceGetTopologyCommonAncestor(self, *_: list[int]) -> int:  # noqa: N802
        return self.common_ancestor


def uuids(number: int) -> list[str]:
    return [f"GPU-{index}" for index in range(number)]


def test_gpus_on_a_switch_are_joined_by_nvlink() -> None:
    links = detect_links(uuids(4), FakeNvml([["switch"] * 18] * 4))
    assert links.kind is LinkKind.NVLINK
    assert links.note == "NVLink joins all 6 pairs through an NVSwitch"
    assert links.driver == "550.54.15"


def test_gpus_with_direct_links_are_joined_by_nvlink() -> None:
    links = detect_links(uuids(2), FakeNvml([[1, 1, None], [0, 0, None]]))
    assert links.kind is LinkKind.NVLINK
    assert "direct links" in links.note


def test_links_that_are_off_do_not_count() -> None:
    links = detect_links(uuids(2), FakeNvml([[None, None], [None, None]], common_ancestor=10))
    assert links.kind is LinkKind.PCIE
    assert links.note == "NVLink joins 0 of 1 pairs; the farthest pair is under one PCIe switch"


def test_bridged_pairs_leave_a_box_to_pcie() -> None:
    # 0-1 and 2-3 have a bridge each: a ring over all four must cross PCIe.
    links = detect_links(uuids(4), FakeNvml([[1], [0], [3], [2]]))
    assert links.kind is LinkKind.PCIE
    assert links.note == "NVLink joins 2 of 6 pairs; the farthest pair is across CPU sockets"


def test_only_the_gpus_of_the_ranks_count() -> None:
    assert detect_links(uuids(2), FakeNvml([[1], [0], [3], [2]])).kind is LinkKind.NVLINK


def test_cards_without_nvlink_are_joined_by_pcie() -> None:
    assert detect_links(uuids(2), FakeNvml([[], []], common_ancestor=30)).note.endswith("one PCIe host bridge")


def test_one_gpu_has_no_pair() -> None:
    assert detect_links(uuids(1), FakeNvml([["switch"]])).note == "one GPU; no pair to join"


def test_nvml_is_shut_down() -> None:
    nvml = FakeNvml([["switch"], ["switch"]])
    detect_links(uuids(2), nvml)
    assert nvml.num_open == 0


def test_a_missing_driver_is_reported_in_one_sentence() -> None:
    with pytest.raises(MissingError, match=r"Driver Not Loaded.*nvidia-smi"):
        detect_links(uuids(2), FakeNvml([["switch"], ["switch"]], broken=True))


def test_the_fake_has_the_names_of_the_real_one() -> None:
    pynvml = pytest.importorskip("pynvml")
    for name in dir(FakeNvml):
        if name.lower().startswith("nvml"):
            assert hasattr(pynvml, name), name
    for name in ("NVML_NVLINK_MAX_LINKS", "NVML_FEATURE_ENABLED", "NVML_NVLINK_DEVICE_TYPE_SWITCH"):
        assert getattr(pynvml, name) == getattr(FakeNvml, name)
