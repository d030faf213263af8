"""Terms of layers with a state: the scan and the short convolution before it."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, setting, stack, view

from costmodel.model_flop import model_flop_per_step
from costmodel.spec import Block, Mamba2, Source
from costmodel.terms import convolution, scan
from costmodel.terms.gemm import BANDWIDTH_FRAC
from costmodel.terms.host import launching_s

MIXER = Mamba2(hidden=8, num_heads=2, head_dim=4, num_groups=1, state_size=3, conv_kernel=4, chunk_size=2)
RECURRENT = Block(hidden=8, mixer=MIXER, num_norms=1)


def test_a_scan_takes_its_arithmetic_or_its_traffic() -> None:
    # 4 tokens in chunks of 2, 2 heads of 4 channels, state 3, one group. Per token: 2 x (1 x 2 x 3 / 2) = 6 for scores,
    # 2 x (2 x 4 x 2 / 2) = 16 for their product with the input, 2 x 2 x (2 x 3 x 4) = 96 for the state: 118, of four
    # tokens 472 FLOP. Moved per token: 8 + 2 x 3 convolved, 2 steps, 8 out: 24, of four tokens 96 values.
    device = setting().cluster.device
    here = view(RECURRENT)
    operation = next(op for op in here.operations if type(op).__name__ == "Scan")
    assert (operation.flop, operation.moved_values) == (472, 96)
    workload = here.setting.workload
    arithmetic_s = 472 / (device.peak_flop_per_s[workload.precision] * device.attention_efficiency_frac)
    traffic_s = 96 * workload.precision.bytes / (device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC)
    price = scan.price(here)
    assert price.forward_s == pytest.approx(max(arithmetic_s, traffic_s))
    assert price.backward_s == pytest.approx(2 * price.forward_s)
    assert price.source is Source.ASSUMED


def test_a_short_convolution_waits_for_memory() -> None:
    # 14 channels of 4 tokens read and written: 112 values.
    here = view(RECURRENT)
    moved_bytes = 112 * here.setting.workload.precision.bytes
    rate = here.setting.cluster.device.mem_bandwidth_bytes_per_s * BANDWIDTH_FRAC
    assert convolution.price(here).forward_s == pytest.approx(moved_bytes / rate)


def test_a_block_without_recurrence_pays_for_none() -> None:
    for term in (scan, convolution):
        assert term.price(view(BLOCK)).forward_s == term.price(view(BLOCK)).backward_s == 0


def test_a_block_of_one_part_takes_half_of_the_launches() -> None:
    of = setting(stack=stack(launch_s_per_layer=0.25))
    assert (launching_s(view(BLOCK, of)), launching_s(view(RECURRENT, of))) == (0.25, 0.125)


def test_recurrences_and_convolutions_count_as_model_flop() -> None:
    here = setting()
    assert model_flop_per_step(here.model, here.workload) > 0
    assert sum(op.flop for op in RECURRENT.operations(1, 4)) == pytest.approx(
        # in 2 x 4 x 8 x 24, out 2 x 4 x 8 x 8, convolution 2 x 4 x 14 x 4, scan 472
        1536 + 512 + 448 + 472
    )
