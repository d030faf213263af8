"""The space of meshes and even cuts, and how an answer hangs on links that nobody measured."""

from __future__ import annotations

import pytest
from brute_force import every_plan
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_samples import block, cluster, job, jobs, model

from costmodel.predict import predict
from costmodel.setting import Mesh
from costmodel.spec import Recompute
from planner.check import plan_of_layout
from planner.frameworks import registry
from planner.job import Job, Layout, setting_of
from planner.search.sensitivity import to_assumed_links
from planner.search.space import even_cut, even_plan, meshes


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(job=jobs(frameworks=("native",), devices=(1, 2, 3, 4, 6, 8), max_blocks=2))
def test_every_plan_lies_on_one_mesh_and_every_mesh_is_given_once(job: Job) -> None:
    found = list(meshes(job, registry.get("native"), Layout()))
    assert len(set(found)) == len(found)
    assert set(found) == {Mesh.of(plan, job.workload) for plan in every_plan(job)}


@given(num_blocks=st.integers(1, 40), pp=st.integers(1, 42))
def test_an_even_cut_holds_every_layer_and_blocks_differ_by_one_at_most(num_blocks: int, pp: int) -> None:
    spec = model((block(), num_blocks))
    if pp > num_blocks + 2:
        with pytest.raises(ValueError, match="stages for"):
            even_cut(spec, pp)
        return
    cut = even_cut(spec, pp)
    assert len(cut) == pp
    assert sum(cut) == num_blocks + 2
    assert min(cut) >= 1
    if pp <= num_blocks:
        blocks = list(cut)
        blocks[0] -= 1
        blocks[-1] -= 1
        assert max(blocks) - min(blocks) <= 1


def test_odd_blocks_go_behind_the_first_stage() -> None:
    # 7 blocks on 4 stages: 1 + 2 + 2 + 2, with the embedding before and the head behind.
    assert even_cut(model((block(), 7)), 4) == (2, 2, 2, 3)


def test_an_even_plan_recomputes_blocks_only() -> None:
    of = job(model((block(), 2)), cluster(1))
    mesh = next(meshes(of, registry.get("native"), Layout()))
    assert even_plan(of.model, "native", mesh, Recompute.FULL).recompute_layers == ("none", "full", "full", "none")


def test_only_assumed_links_are_doubted_each_both_ways() -> None:
    # Two nodes of four: the link between them is assumed, and data parallelism crosses it.
    of = job(model((block(), 2)), cluster(8), global_batch=8)
    plan = plan_of_layout(of, Layout())
    base_s = predict(of.model, of.workload, of.cluster, of.stack, plan).step_time_s
    half, twice = to_assumed_links(setting_of(of), plan)
    assert (half.change, twice.change) == ("half of it", "twice of it")
    assert half.input == twice.input == "bandwidth of the cluster link (assumed)"
    assert twice.step_time_s < base_s < half.step_time_s


def test_a_choice_that_is_fixed_leaves_only_its_meshes() -> None:
    of = job(model((block(num_kv_heads=4), 4)), cluster(8), global_batch=8)
    whole = list(meshes(of, registry.get("native"), Layout()))
    for name, value in [("tp", 2), ("pp", 4), ("dp", 2), ("zero", 3), ("micro_batch", 2)]:
        left = list(meshes(of, registry.get("native"), Layout(**{name: value})))
        assert all(getattr(mesh, name) == value for mesh in left)
        assert set(left) >= {mesh for mesh in whole if getattr(mesh, name) == value}
