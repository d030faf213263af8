"""Which devices are here, on machines that this one is not: CUDA is played by fakes, the rest is real."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import torch

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import DeviceKind, Precision
from planner.cli import device
from planner.models.read import load_model

V100 = ("Tesla V100-SXM2-32GB", 7, 0)
A100 = ("NVIDIA A100-SXM4-80GB", 8, 0)
UNKNOWN = ("Some GPU", 9, 0)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """No test sees the GPUs of another."""
    device.gpus_here.cache_clear()
    yield
    device.gpus_here.cache_clear()


def machine_with(monkeypatch: pytest.MonkeyPatch, *gpus: tuple[str, int, int]) -> None:
    """A machine on which torch sees `gpus`, each a name and its compute capability."""

    def properties(index: int) -> SimpleNamespace:
        name, major, minor = gpus[index]
        return SimpleNamespace(name=name, major=major, minor=minor)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(gpus))
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)


def test_gpus_are_those_that_torch_sees_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, A100, V100)
    assert device.find_device("auto") is DeviceKind.CUDA
    assert device.default_ranks(DeviceKind.CUDA) == 2
    assert [gpu.name for gpu in device.gpus_here()] == [A100[0], V100[0]]


def test_cuda_is_opened_in_another_process_so_that_ranks_can_still_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, A100)

    def properties(_: int) -> SimpleNamespace:
        return SimpleNamespace(name=str(os.getpid()), major=8, minor=0)

    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)
    assert device.gpus_here()[0].name != str(os.getpid())


@pytest.mark.parametrize(
    ("gpus", "num_ranks", "precision"),
    [((A100, A100), 2, Precision.BF16), ((A100, V100), 2, Precision.FP32), ((A100, V100), 1, Precision.BF16)],
)
def test_bf16_is_the_default_where_every_rank_has_it(
    monkeypatch: pytest.MonkeyPatch, gpus: tuple[tuple[str, int, int], ...], num_ranks: int, precision: Precision
) -> None:
    machine_with(monkeypatch, *gpus)
    assert device.default_precision(DeviceKind.CUDA, num_ranks) is precision


def test_published_figures_are_those_of_the_first_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, A100, V100)
    found = device.published_device(DeviceKind.CUDA)
    assert found is not None
    assert found.name == A100[0]


def test_a_gpu_without_published_figures_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, UNKNOWN)
    assert device.published_device(DeviceKind.CUDA) is None


def refuse() -> None:
    raise RuntimeError("CUDA driver initialization failed\nand much more")


def refuse_without_a_word() -> None:
    raise RuntimeError


def hang() -> None:
    threading.Event().wait()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (refuse, "RuntimeError: CUDA driver initialization failed"),
        (refuse_without_a_word, "RuntimeError"),
        (hang, r"rank 0 of 1 did not finish within 0\.3 s"),
        (crash, "rank 0 of 1 was killed by SIGKILL.*"),
    ],
)
def test_cuda_that_is_counted_but_does_not_start_is_missing(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[], None], reason: str
) -> None:
    machine_with(monkeypatch, A100)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: start())
    if start is hang:
        monkeypatch.setattr(device, "CUDA_START_TIMEOUT_S", 0.3)
    sentence = f"torch counts 1 CUDA devices, but CUDA does not start: {reason}; check that nvidia-smi works here"
    with pytest.raises(MissingError, match=sentence):
        device.published_device(DeviceKind.CUDA)


def test_cuda_that_is_not_here_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch)
    assert device.find_device("auto") is DeviceKind.CPU
    with pytest.raises(MissingError, match="--device cpu"):
        device.find_device("cuda")


def test_more_cuda_ranks_than_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    machine_with(monkeypatch, A100, A100)
    device.check_ranks(DeviceKind.CUDA, 2)
    with pytest.raises(BadInputError, match="--nproc is 3, but must be a whole number from 1 to 2 on cuda"):
        device.check_ranks(DeviceKind.CUDA, 3)


@pytest.mark.parametrize(("cores", "ranks"), [(1, 2), (2, 2), (3, 2), (6, 4), (8, 8), (96, 8)])
def test_cpu_ranks_are_a_power_of_two_within_the_cores(monkeypatch: pytest.MonkeyPatch, cores: int, ranks: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert device.default_ranks(DeviceKind.CPU) == ranks


def test_cores_are_counted_where_the_system_knows_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert device.default_ranks(DeviceKind.CPU) == 4


def test_tensor_degrees_divide_every_size_of_the_model() -> None:
    # llama-3-8b: 32 heads, 8 key-value heads, 14336 wide feed-forward, vocabulary 128256 = 2^8 x 3 x 167.
    model = load_model("llama-3-8b").spec
    assert device.tensor_degrees(model, 8) == (1, 2, 4, 8)
    assert device.tensor_degrees(model, 6) == (1, 2)
    assert device.tensor_degrees(model, 16) == (1, 2, 4, 8)
