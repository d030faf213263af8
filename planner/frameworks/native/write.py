"""Hands a plan to the project's own executor: the plan file itself, and a script that starts its ranks."""

from __future__ import annotations

from importlib.metadata import version

from costmodel.spec import PlanFile
from planner.frameworks import launchers
from planner.frameworks.describe import describe

VERSION = version("parallelism-planner")


def write(plan_file: PlanFile, launcher: str) -> dict[str, str]:
    """`plan.json` and `train.sh`, which runs `planner run plan.json` on every rank."""
    num_nodes, ranks_per_node = launchers.launch_size(plan_file.plan, plan_file.cluster)
    script = launchers.get(launcher)(
        launchers.Launch(
            title=describe(plan_file, f"its own executor, version {VERSION}"),
            num_nodes=num_nodes,
            ranks_per_node=ranks_per_node,
            program=("planner", "run", '"$here/plan.json"'),
            is_python=False,
            setup=(
                "command -v planner >/dev/null || "
                "fail 4 'planner is not on PATH; activate the environment that has parallelism-planner'",
            ),
        )
    )
    return {"plan.json": plan_file.to_json(), "train.sh": script}
