"""Let torchtitan itself build an exported job for one rank of many, on meta tensors: run by its own interpreter.

Usage: PYTHONPATH=FOLDER python torchtitan_checker.py WORLD_SIZE RANK; prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims, parallel_dims
from torchtitan.distributed import utils as distributed_utils


def main(world_size: int, rank: int) -> dict[str, object]:
    # Compiled blocks would not change what is checked here.
    words = ["--module", "planned_job", "--config", "planned_job", "--compile.no-enable"]
    job = ConfigManager().parse_args(words)
    parallelism, model_spec = job.parallelism, job.model_spec

    parallel_dims.device_type = "cpu"
    dist.init_process_group("fake", rank=rank, world_size=world_size, store=FakeStore())
    dims = ParallelDims(
        dp_replicate=parallelism.data_parallel_replicate_degree,
        dp_shard=parallelism.data_parallel_shard_degree,
        cp=parallelism.context_parallel_degree,
        tp=parallelism.tensor_parallel_degree,
        pp=parallelism.pipeline_parallel_degree,
        ep=parallelism.expert_parallel_degree,
        world_size=world_size,
        spmd_backend=parallelism.spmd_backend,
    )
    dims.build_mesh()
    distributed_utils.set_spmd_backend(parallelism.spmd_backend)

    model_spec.model.update_from_config(config=job)
    with torch.device("meta"):
        model = model_spec.model.build()
    params_total = sum(parameter.numel() for parameter in model.parameters())
    shared = {
        "parallel_dims": dims,
        "training": job.training,
        "parallelism": parallelism,
        "compile_config": job.compile,
        "ac_config": job.activation_checkpoint,
        "dump_folder": str(Path.cwd()),
    }
    schedule = None
    if dims.pp_enabled:
        schedule, parts, _, _ = model_spec.pipelining_fn(
            model,
            device=torch.device("cpu"),
            model_config=model_spec.model,
            parallelize_fn=model_spec.parallelize_fn,
            loss_fn=job.loss.build(compile_config=job.compile),
            **shared,
        )
    else:
        parts = [model_spec.parallelize_fn(model, **shared)]
    (stage,) = parts
    local = [p.to_local() if isinstance(p, DTensor) else p for p in stage.parameters()]
    return {
        "params_total": params_total,
        "stage_params": sum(parameter.numel() for parameter in stage.parameters()),
        "local_params": sum(shard.numel() for shard in local),
        "num_blocks": len(stage.layers),
        "has_embedding": stage.tok_embeddings is not None,
        "has_head": stage.lm_head is not None,
        "schedule": type(schedule).__name__ if schedule else None,
        "num_microbatches": schedule._n_microbatches if schedule else None,
        "recompute": any("checkpoint" in name for name, _ in stage.named_modules()),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
