"""The bound by which meshes are dismissed: no plan of a mesh is faster, whatever its cut and recompute."""

from __future__ import annotations

from brute_force import try_all
from hypothesis import HealthCheck, given, settings
from search_samples import jobs

from costmodel.layer_price import price_layers
from costmodel.setting import Mesh
from costmodel.uncertainty import memory_bounds_bytes
from planner.frameworks.megatron.rules import block_recompute_count
from planner.job import Job, setting_of
from planner.search.bounds import TimeFloor, memory_floor_bytes, mesh_lower_bound_s

QUICK = settings(max_examples=12, derandomize=True, suppress_health_check=list(HealthCheck))


@QUICK
@given(job=jobs(frameworks=("native",), unequal=True))
def test_no_plan_undercuts_the_bounds_of_its_mesh(job: Job) -> None:
    setting, bounds = setting_of(job), {}
    floor = TimeFloor(setting)
    for one in try_all(job):
        mesh = Mesh.of(one.plan, job.workload)
        if mesh not in bounds:
            prices = price_layers(setting, mesh)
            bound_s = mesh_lower_bound_s(setting, mesh, prices)
            assert 0 < floor.of(mesh) <= bound_s * (1 + 1e-9)
            bounds[mesh] = bound_s, memory_bounds_bytes(memory_floor_bytes(setting, mesh, prices))[1]
        bound_s, floor_bytes = bounds[mesh]
        assert bound_s <= one.step_time_s * (1 + 1e-9)
        assert floor_bytes <= one.peak_high_bytes


@QUICK
@given(job=jobs(frameworks=("megatron",)))
def test_the_bound_counts_what_every_stage_recomputes(job: Job) -> None:
    setting = setting_of(job)
    for one in try_all(job):
        mesh = Mesh.of(one.plan, job.workload)
        bound_s = mesh_lower_bound_s(setting, mesh, price_layers(setting, mesh), block_recompute_count(one.plan))
        assert bound_s <= one.step_time_s * (1 + 1e-9)
