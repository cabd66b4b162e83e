"""The collector rests, and is as it was before when the work is done or has failed."""

from __future__ import annotations

import gc

import pytest

from moldau.base.collector import collector_resting


def test_it_rests_and_goes_on() -> None:
    with collector_resting():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="failed"), collector_resting():
        raise ValueError("failed")
    assert gc.isenabled()


def test_who_had_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with collector_resting(), collector_resting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
