"""Methods that share a stack: each model is what it would be under its own method."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fossil.config.methods.base import NoOptions
from fossil.config.methods.focal import FocalOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.data.synthetic import make_synthetic
from fossil.methods.erm import ERM
from fossil.methods.focal import Focal
from fossil.methods.fossil import Fossil
from fossil.methods.fossil_bilevel import Bilevel
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.methods.static import Static
from fossil.training.grouped_methods import GroupedMethods, can_share
from tests.unit.training.stacked_setting import DATA, SCENARIO, SEEDS, train

OPTIONS: list[dict[str, Any]] = [{}, {"warmup_epochs": 0}, {"stage_mode": True, "class_term": "none"}]


@pytest.mark.parametrize("frozen", [False, True])
def test_models_are_those_of_a_stack_of_their_own(frozen: bool) -> None:
    methods = [Fossil(FossilOptions(**options)) for options in OPTIONS]
    scores = torch.rand(2, len(DATA[0].train.targets), dtype=torch.float64) if frozen else None
    copies = len(methods)
    together = train(
        GroupedMethods(methods),
        DATA * copies,
        seeds=SEEDS * copies,
        difficulty=scores if scores is None else scores.repeat(copies, 1),
    )
    for place, options in enumerate(OPTIONS):
        alone = train(Fossil(FossilOptions(**options)), difficulty=scores)
        part = together.part(place, of=copies)
        torch.testing.assert_close(part.probabilities, alone.probabilities, rtol=1e-11, atol=1e-11)
        for mine, theirs in zip(part.history, alone.history, strict=True):
            assert set(mine) == set(theirs)
            for key, value in mine.items():
                torch.testing.assert_close(value, theirs[key], rtol=1e-9, atol=1e-11)
    first, second = (together.part(place, of=copies).probabilities for place in (0, 1))
    assert (first - second).abs().max() > 1e-4


def test_a_failure_belongs_to_the_part_of_its_model() -> None:
    spoiled = make_synthetic(SCENARIO, seed=4)
    spoiled.train.inputs[0, 0] = float("inf")
    data = [*DATA, DATA[0], spoiled]
    result = train(ERM(NoOptions()), data, seeds=SEEDS * 2)
    assert result.part(0, of=2).failed == {}
    assert result.part(1, of=2).failed == {1: 0}


@pytest.mark.parametrize(
    "methods",
    [
        [Focal(FocalOptions()), Focal(FocalOptions(gamma=1.0))],
        [MetaWeightNet(MetaWeightNetOptions())] * 2,
        [ERM(NoOptions()), Static(NoOptions())],
    ],
    ids=["a loss of its own", "hooks of its own", "two classes"],
)
def test_methods_that_cannot_share_a_stack_are_an_error(methods: list[Any]) -> None:
    with pytest.raises(ValueError, match="cannot share a stack"):
        GroupedMethods(methods)


def test_methods_that_only_weigh_can_share_a_stack() -> None:
    assert [can_share(kind) for kind in (ERM, Static, Fossil)] == [True] * 3
    assert [can_share(kind) for kind in (Focal, MetaWeightNet, Bilevel)] == [False] * 3
