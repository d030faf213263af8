"""A measured time outside its interval: what the profile says of the noise of the machine."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from costmodel.spec import Measurement, Profile
from planner.cli.summaries import noise_sentences


def said(*, within_interval: bool, variation_frac: float) -> tuple[str, ...]:
    measurement = Mock(spec=Measurement, within_interval=within_interval)
    return noise_sentences(measurement, Mock(spec=Profile, variation_frac=variation_frac))


def test_an_unsteady_machine_is_told_to_profile_again() -> None:
    (sentence,) = said(within_interval=False, variation_frac=0.3)
    assert "varied by 30 %" in sentence
    assert "profile again" in sentence


@pytest.mark.parametrize(("within_interval", "variation_frac"), [(True, 0.3), (False, 0.1)])
def test_nothing_is_said_inside_the_interval_or_of_a_steady_machine(
    within_interval: bool, variation_frac: float
) -> None:
    assert said(within_interval=within_interval, variation_frac=variation_frac) == ()
