"""Read an exported job back from its text alone, so that tests can say that nothing of a plan is lost."""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import dataclass
from typing import Any

from costmodel.spec import PlanFile, Recompute, Schedule


@dataclass(frozen=True)
class ReadBack:
    """What an exported job says about the layout; None where it says nothing."""

    tp: int
    pp: int
    dp: int
    zero: int | None
    micro_batch: int
    global_batch: int
    schedule: Schedule | None
    cut: tuple[int, ...] | None
    recompute_layers: tuple[Recompute, ...]


def num_launched_ranks(script: str) -> int:
    """Nodes times ranks per node of a torchrun script."""
    nodes = re.search(r"--nnodes (\d+)", script)
    ranks = re.search(r"--nproc-per-node (\d+)", script)
    assert ranks is not None
    return (int(nodes[1]) if nodes else 1) * int(ranks[1])


def megatron_options(args_script: str) -> dict[str, list[str]]:
    """Options of `args.sh` with their values."""
    body = args_script[args_script.index("args=(") + len("args=(") : args_script.rindex(")")]
    options: dict[str, list[str]] = {}
    for word in shlex.split(body, comments=True):
        if word.startswith("--"):
            assert word not in options, f"{word} stands twice"
            options[word] = []
        else:
            options[list(options)[-1]].append(word)
    return options


def read_megatron(texts: dict[str, str]) -> ReadBack:
    options = megatron_options(texts["args.sh"])
    tp, pp = int(options["--tensor-model-parallel-size"][0]), int(options["--pipeline-model-parallel-size"][0])
    num_layers = int(options["--num-layers"][0])
    layout = options.get("--pipeline-model-parallel-layout", [f"Et*{num_layers}L"])[0]
    stages = [re.sub(r"t\*(\d+)", lambda match: "t" * int(match[1]), stage) for stage in layout.split("|")]
    assert "".join(stages) == "E" + "t" * num_layers + "L"
    count = int(options.get("--recompute-num-layers", ["0"])[0])
    if options.get("--recompute-method") == ["uniform"]:
        count = num_layers
    modes = [
        Recompute.FULL if letter == "t" and stage[:index].count("t") < count else Recompute.NONE
        for stage in stages
        for index, letter in enumerate(stage)
    ]
    return ReadBack(
        tp=tp,
        pp=pp,
        dp=num_launched_ranks(texts["train.sh"]) // (tp * pp),
        zero=1 if "--use-distributed-optimizer" in options else 0,
        micro_batch=int(options["--micro-batch-size"][0]),
        global_batch=int(options["--global-batch-size"][0]),
        schedule=Schedule.ONE_F_ONE_B,
        cut=tuple(map(len, stages)),
        recompute_layers=tuple(modes),
    )


def torchtitan_constants(module: str) -> dict[str, Any]:
    """The constants at the top of the exported module."""
    constants = {}
    for node in ast.parse(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                constants[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue  # an expression of the fixed part of the module
    return constants


def read_torchtitan(texts: dict[str, str]) -> ReadBack:
    job = torchtitan_constants(texts["planned_job.py"])
    pp, num_layers = job["PIPELINE_PARALLEL"], job["NUM_LAYERS"]
    cut = None
    if job["STAGES"] is not None:
        # The head is two modules there, norm and lm_head.
        cut = tuple(len(stage) - ("norm" in stage) for stage in job["STAGES"])
    replicas, shards = job["DATA_PARALLEL_REPLICATE"], job["DATA_PARALLEL_SHARD"]
    zero = None
    if replicas * shards > 1:
        sharded = 3 if job["RESHARD_AFTER_FORWARD"] == "always" else 2 if pp == 1 else 1
        zero = sharded if shards > 1 else 0
    block = Recompute.FULL if job["RECOMPUTE"] else Recompute.NONE
    return ReadBack(
        tp=job["TENSOR_PARALLEL"],
        pp=pp,
        dp=replicas * shards,
        zero=zero,
        micro_batch=job["MICRO_BATCH"],
        global_batch=job["GLOBAL_BATCH"],
        schedule={"1F1B": Schedule.ONE_F_ONE_B, "GPipe": Schedule.GPIPE}[job["PIPELINE_SCHEDULE"]],
        cut=cut,
        recompute_layers=(Recompute.NONE, *(block for _ in range(num_layers)), Recompute.NONE),
    )


def read_native(texts: dict[str, str]) -> ReadBack:
    plan_file = PlanFile.from_json(texts["plan.json"], "plan.json")
    plan = plan_file.plan
    return ReadBack(
        tp=plan.tp,
        pp=plan.pp,
        dp=plan.dp,
        zero=plan.zero,
        micro_batch=plan.micro_batch,
        global_batch=plan_file.workload.global_batch,
        schedule=plan.schedule,
        cut=plan.cut,
        recompute_layers=plan.recompute_layers,
    )


READERS = {"native": read_native, "megatron": read_megatron, "torchtitan": read_torchtitan}
