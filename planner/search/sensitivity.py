"""How much the answer hangs on links that nobody measured or published."""

from __future__ import annotations

from costmodel.predict import predict
from costmodel.setting import Setting
from costmodel.spec import Infeasible, Plan, Sensitivity, Source

FACTORS = {"half": 0.5, "twice": 2.0}


def to_assumed_links(setting: Setting, plan: Plan) -> tuple[Sensitivity, ...]:
    """Step time of `plan` with half and twice the bandwidth of each tier whose figures are assumed.

    A tier over which collectives were measured is left out: the answer hangs on those times, not on its bandwidth.
    """
    found = []
    measured_inside = any((table.num_nodes or 1) == 1 for table in setting.cluster.tables)
    for index, tier in enumerate(setting.cluster.tiers):
        if tier.source is not Source.ASSUMED or (measured_inside and not tier.link.is_network):
            continue
        for word, factor in FACTORS.items():
            changed = tier.model_copy(update={"bandwidth_bytes_per_s": factor * tier.bandwidth_bytes_per_s})
            tiers = (*setting.cluster.tiers[:index], changed, *setting.cluster.tiers[index + 1 :])
            cluster = setting.cluster.with_tiers(*tiers)
            outcome = predict(setting.model, setting.workload, cluster, setting.stack, plan, setting.profile)
            if not isinstance(outcome, Infeasible):
                found.append(
                    Sensitivity(
                        input=f"bandwidth of the {tier.name} link (assumed)",
                        change=f"{word} of it",
                        step_time_s=outcome.step_time_s,
                    )
                )
    return tuple(found)
