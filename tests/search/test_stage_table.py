"""What a stage costs hangs on the layers that it holds, not on how the model lists them."""

from __future__ import annotations

from search_samples import block, cluster, job, model

from costmodel.layer_price import price_layers
from costmodel.setting import Mesh
from costmodel.spec import ModelSpec, Schedule
from planner.job import setting_of
from planner.search.stage_table import StageTable


def table(spec: ModelSpec) -> StageTable:
    """Of a pipeline of 3 stages, in which the first block of each is recomputed."""
    setting = setting_of(job(spec, cluster(3)))
    mesh = Mesh(tp=1, pp=3, dp=1, zero=0, micro_batch=1, num_microbatches=4, schedule=Schedule.ONE_F_ONE_B)
    return StageTable(setting, mesh, price_layers(setting, mesh), num_recomputed=1, allow_tight=False)


def test_equal_blocks_are_uniform_however_many_runs_list_them() -> None:
    listed_twice = table(model((block(), 2), (block(), 3)))
    assert listed_twice.uniform
    # One option for all places of a stage of two blocks.
    assert listed_twice.option(1, 1, 2) is listed_twice.option(1, 4, 2)


def test_blocks_that_differ_are_told_apart_by_where_a_stage_starts() -> None:
    mixed = table(model((block(32), 2), (block(64), 3)))
    assert not mixed.uniform
    narrow, wide = mixed.option(1, 1, 2), mixed.option(1, 4, 2)
    assert narrow is not None
    assert wide is not None
    assert narrow.price.forward_s < wide.price.forward_s
