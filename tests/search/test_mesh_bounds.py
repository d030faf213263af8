"""The bound by which meshes are dismissed: no plan of a mesh is faster, whatever its cut and recompute."""

from __future__ import annotations

from brute_force import try_all
from hypothesis import HealthCheck, given, settings
from search_samples import jobs

from costmodel.layer_price import price_layers
from costmodel.setting import Mesh
from planner.job import Job, setting_of
from planner.search.bounds import mesh_lower_bound_s


@settings(max_examples=12, derandomize=True, suppress_health_check=list(HealthCheck))
@given(job=jobs(frameworks=("native",), unequal=True))
def test_no_plan_undercuts_the_bound_of_its_mesh(job: Job) -> None:
    setting, bounds_s = setting_of(job), {}
    for one in try_all(job):
        mesh = Mesh.of(one.plan, job.workload)
        if mesh not in bounds_s:
            bounds_s[mesh] = mesh_lower_bound_s(setting, mesh, price_layers(setting, mesh))
        assert 0 < bounds_s[mesh] <= one.step_time_s * (1 + 1e-9)
