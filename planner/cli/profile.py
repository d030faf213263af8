"""`planner profile`: measures this machine with a model."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli import options


@click.command()
@options.model_flag(default="the small model of the demo")
@click.option("--device", default="auto", show_default=True, metavar="D", help="auto, cpu or cuda.")
@click.option("--nproc", type=int, metavar="N", help="Ranks.  [default: all GPUs, or the cores of a CPU]")
@click.option("--seq-len", type=int, metavar="N", help="Tokens in a sequence.  [default: the model's, up to 4096]")
@click.option("--precision", metavar="P", help="bf16, fp16 (GPUs) or fp32.  [default: bf16 on GPUs that have it]")
@options.output("profile.json", "the profile")
@options.json_flag
def profile(
    model: str | None,
    device: str,
    nproc: int | None,
    seq_len: int | None,
    precision: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Measure the layers of a model, the memory they keep and the links between ranks, on this machine."""
    from costmodel.spec import Profile
    from planner.cli import loading
    from planner.cli.console import line, note, out, print_json, progress
    from planner.cli.device import check_ranks, default_ranks, find_device
    from planner.cli.profiling import choose, measure_here
    from planner.cli.summaries import print_profile, profile_object
    from planner.documents import check_document_writable, write_document
    from planner.models.presets import DEMO_MODEL

    check_document_writable(output, Profile, force=force)
    named = DEMO_MODEL if model is None else model
    loaded = loading.load(named)
    loading.refuse_to_train(loaded.hf_config, loaded.spec, f"--model {named}")
    kind = find_device(device)
    num_ranks = default_ranks(kind) if nproc is None else nproc
    check_ranks(kind, num_ranks)
    choices = choose(loaded, named, kind, num_ranks, seq_len, precision)
    note(
        f"measuring {loaded.spec.name} ({choices.precision.value}, {choices.seq_len} tokens) on {num_ranks} "
        f"{kind.value} rank{'s' if num_ranks > 1 else ''}"
    )
    with progress(shown=not as_json) as on_progress:
        measured = measure_here(loaded, choices, on_progress)
    write_document(output, measured, force=force)
    if as_json:
        print_json({**profile_object(measured), "file": str(output)})
        return
    console = out()
    print_profile(console, measured)
    source = "" if str(output) == "profile.json" else f" --profile {output}"
    console.print(line(f"Written to {output}. Next: `planner solve --gpus {num_ranks}{source}`."))
