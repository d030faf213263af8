"""Where every input comes from: hashes, versions, device, profile, framework constants, and the search's own record."""

from __future__ import annotations

from costmodel import units
from costmodel.spec import Certificate, Measurement, PlanFile, Provenance
from reports import sentences
from reports.section import Answer, Listing, Paragraph, Section, Table

_NO_PROFILE = "No profile was given: times come from published figures of the device, as the sources of the terms say."


def build(answer: Answer) -> Section:
    """Tables of names and values, and the plan as JSON; every answer has one."""
    plan_file = answer.plan_file
    tables = [_inputs(plan_file), _job(plan_file), _device(plan_file), _links(plan_file), _stack(plan_file)]
    if plan_file.profile is not None:
        tables.append(_profile(plan_file))
    if answer.measurement is not None:
        tables.append(_run(answer.measurement))
    if plan_file.certificate is not None:
        tables.append(_search(plan_file.certificate))
    return Section(
        slug="provenance",
        title="Where it comes from",
        paragraphs=(Paragraph(_NO_PROFILE),) if plan_file.profile is None else (),
        tables=tuple(tables),
        listings=(Listing(f"The plan as JSON (plan {plan_file.plan.plan_id})", plan_file.plan.to_json()),),
    )


def _facts(caption: str, rows: list[tuple[str, str]], folded: bool = True) -> Table:
    return Table(caption=caption, columns=("What", "Value"), rows=tuple(rows), folded=folded)


def _inputs(plan_file: PlanFile) -> Table:
    rows = [("created", plan_file.created), ("plan", plan_file.plan.plan_id)]
    rows += [(f"{role} (SHA-256)", digest) for role, digest in plan_file.input_hashes.items()]
    rows += [(f"version of {name}", version) for name, version in plan_file.versions.items()]
    return _facts("Inputs and versions", rows, folded=False)


def _job(plan_file: PlanFile) -> Table:
    model, workload = plan_file.model, plan_file.workload
    rows = [
        ("model", model.name),
        ("architecture", model.architecture),
        ("parameters", f"{units.format_count(model.params_total)} ({model.params_total:,})"),
        *((f"parameters of {part}", f"{count:,}") for part, count in model.params_by_part.items()),
        ("blocks", f"{model.num_layers:,}"),
        ("hidden size", f"{model.hidden:,}"),
        ("vocabulary", f"{model.vocab:,}"),
        ("global batch", f"{workload.global_batch:,} sequences of {workload.seq_len:,} tokens"),
        ("precision", workload.precision.value),
        ("optimizer", workload.optimizer),
        ("method", workload.method),
    ]
    return _facts("Model and workload", rows)


def _device(plan_file: PlanFile) -> Table:
    cluster, device = plan_file.cluster, plan_file.cluster.device
    rows = [
        ("cluster", f"{cluster.name}: {sentences.devices(plan_file, cluster.num_devices)}"),
        ("device", device.name),
        *((f"dense peak, {name.value}", units.format_flop_rate(peak)) for name, peak in device.peak_flop_per_s.items()),
        ("share of the peak, large GEMM", units.format_frac(device.gemm_efficiency_frac)),
        ("share of the peak, attention", units.format_frac(device.attention_efficiency_frac)),
        ("memory", units.format_bytes(device.memory_bytes)),
        ("of it a process may allocate", units.format_bytes(device.memory_limit_bytes)),
        ("memory bandwidth", units.format_rate(device.mem_bandwidth_bytes_per_s)),
        ("source", device.source.value),
        ("note", device.note),
    ]
    return _facts("Device", rows)


def _links(plan_file: PlanFile) -> Table:
    return Table(
        caption="Links, per device and direction",
        columns=("Tier", "Devices", "Link", "Bandwidth", "Latency", "Source", "Note"),
        rows=tuple(
            (
                tier.name,
                f"{tier.num_devices:,}",
                tier.link.value,
                units.format_rate(tier.bandwidth_bytes_per_s),
                units.format_seconds(tier.latency_s),
                tier.source.value,
                tier.note,
            )
            for tier in plan_file.cluster.tiers
        ),
        numeric=frozenset({1, 3, 4}),
        folded=True,
    )


def _stack(plan_file: PlanFile) -> Table:
    values = plan_file.stack.model_dump(mode="json")
    rows = [(key.replace("_", " "), _plain(value)) for key, value in values.items() if key != "schema"]
    return _facts(f"Constants of the framework {plan_file.stack.name}", rows)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _made_on(provenance: Provenance) -> list[tuple[str, str]]:
    return [
        ("date", provenance.date),
        ("device", provenance.device),
        ("driver or kernel", provenance.driver),
        ("communication library", provenance.backend),
        ("ranks", f"{provenance.num_ranks:,}"),
        ("threads per rank", f"{provenance.threads_per_rank:,}"),
        *((f"version of {name}", version) for name, version in provenance.versions.items()),
    ]


def _profile(plan_file: PlanFile) -> Table:
    profile = plan_file.profile
    assert profile is not None
    rows = [
        ("model profiled", profile.model.name),
        ("layer samples", f"{len(profile.layers):,}"),
        ("collective samples", f"{len(profile.collectives):,}"),
        ("optimizer samples", f"{len(profile.optimizer):,}"),
    ]
    return _facts("Profile", _made_on(profile.provenance) + rows)


def _run(measurement: Measurement) -> Table:
    return _facts("Measured run", [*_made_on(measurement.provenance), ("seed", str(measurement.seed))])


def _search(certificate: Certificate) -> Table:
    rows = [
        ("space", certificate.space),
        ("restrictions", "; ".join(certificate.restrictions) or "none"),
        ("lower bound of the step time", units.format_seconds(certificate.lower_bound_s)),
        ("gap over the full space", units.format_frac(certificate.gap_frac)),
        ("gap within the restrictions", units.format_frac(certificate.gap_in_space_frac)),
        ("layouts considered", f"{certificate.considered:,}"),
        ("settled by lower bounds", f"{certificate.pruned:,}"),
        ("solved", f"{certificate.solved:,}"),
        *((f"refused by rule {rule}", f"{count:,}") for rule, count in certificate.refused.items()),
        ("time of the search", units.format_seconds(certificate.wall_s)),
    ]
    return _facts("Search certificate", rows)
