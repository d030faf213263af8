"""`planner run`: trains with a plan and compares with the prediction."""

from __future__ import annotations

from pathlib import Path

import click

from executor.options import DEFAULT_LR
from planner.cli import options

DEFAULT_STEPS = 20


@click.command()
@click.argument("plan", type=options.PATH, metavar="PLAN.JSON")
@click.option("--steps", type=int, default=DEFAULT_STEPS, show_default=True, metavar="K", help="Optimizer steps.")
@click.option("--data", type=options.PATH, metavar="PATH", help="Text file or folder.  [default: text shipped here]")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of weights and batches.")
@click.option("--lr", type=float, default=DEFAULT_LR, show_default=True, metavar="X", help="Learning rate of AdamW.")
@click.option("--device", default="auto", show_default=True, metavar="D", help="auto, cpu or cuda.")
@options.output("measurement.json", "the measurement")
@options.json_flag
def run(
    plan: Path,
    steps: int,
    data: Path | None,
    seed: int,
    lr: float,
    device: str,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Train with a plan made for `native`.

    Starts its own ranks on this machine, or joins those of torchrun or Slurm; then only rank 0 prints and writes.
    """
    from costmodel.spec import Measurement
    from planner.cli.console import line, out, print_json, progress
    from planner.cli.loading import refuse_to_train
    from planner.cli.summaries import measurement_object, noise_sentences, print_measurement
    from planner.cli.training import is_reporting_rank, said_once, train
    from planner.documents import check_document_writable, read_plan_file, write_document
    from planner.files import refuse_same_file

    def check_output() -> None:
        check_document_writable(output, Measurement, force=force)
        refuse_same_file(output, plan)

    with said_once(), progress(shown=is_reporting_rank() and not as_json) as on_progress:
        plan_file = read_plan_file(plan)
        refuse_to_train(plan_file.hf_config, plan_file.model, f"plan file {plan}")
        measured = train(
            plan_file,
            data,
            steps=steps,
            seed=seed,
            lr=lr,
            device=device,
            on_progress=on_progress,
            check_output=check_output,
        )
    if measured is None:
        return
    write_document(output, measured, force=force)
    if as_json:
        print_json({**measurement_object(measured), "file": str(output)})
        return
    console = out()
    print_measurement(console, measured)
    for sentence in noise_sentences(measured, plan_file.profile):
        console.print(line(sentence))
    console.print(line(f"Written to {output}. Next: `planner report {plan}`."), soft_wrap=True)
