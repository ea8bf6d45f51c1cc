"""What the image study's training offers to methods that learn their weights, and online difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from fossil.config.methods.fossil_bilevel import FossilBilevelOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.hypergradient.functional import RandomState
from fossil.hypergradient.problem import BilevelProblem
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, MakeProblem, Method, Progress, Samples
from fossil.methods.fossil import Fossil
from fossil.methods.fossil_bilevel import Bilevel
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.training.fold import FoldTrainingError
from fossil.training.image_data import predict_logits
from tests.unit.training.fold_study import BACKBONE, Study
from tests.unit.training.image_setting import COUNT, IMAGES, VALIDATION, Setting

# --- Looking ahead ----------------------------------------------------------------------------------------------------


class Watcher(Method):
    """Empirical risk minimisation that compares what the lookahead says with what the model did."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(None)
        self.setting = setting
        self.compared = 0

    def start(self, generators: Sequence[torch.Generator], **_: Any) -> None:
        (self.generator,) = generators

    def before_step(self, batch: Batch, losses: Tensor, lookahead: Lookahead) -> None:
        before, random_state = self.setting.state(), torch.get_rng_state()
        here = tuple(p.detach() for p in lookahead.parameters)
        generator = torch.Generator().manual_seed(self.compared)
        tangent = tuple(torch.randn(p.shape, generator=generator) * p.abs().mean() for p in here)
        derivatives = lookahead.derivative(tangent)
        for sample in range(3):
            slopes = torch.autograd.grad(losses[sample], lookahead.parameters, retain_graph=True)
            expected = sum(float((slope * t).sum()) for slope, t in zip(slopes, tangent, strict=True))
            assert float(derivatives[sample]) == pytest.approx(expected, rel=1e-3, abs=1e-5)
        weights = torch.rand(len(losses), generator=generator)
        expected = torch.autograd.grad((weights * losses).mean(), lookahead.parameters, retain_graph=True)
        for mine, theirs in zip(lookahead.gradient(weights), expected, strict=True):
            torch.testing.assert_close(mine, theirs)
        self.compare_validation(lookahead, here)
        after = self.setting.state()
        assert all(torch.equal(after[name], value) for name, value in before.items())
        assert torch.equal(torch.get_rng_state(), random_state)
        self.compared += 1

    def compare_validation(self, lookahead: Lookahead, here: tuple[Tensor, ...]) -> None:
        """A step against the gradient lowers the loss on the same validation samples by its squared length."""
        state = self.generator.get_state()
        loss, slope = lookahead.validation_gradient(here, 6)
        assert loss.shape == ()
        steepness = float(sum(part.square().sum() for part in slope))
        h = 1e-3 / steepness**0.5
        self.generator.set_state(state)
        ahead = tuple(p - h * part for p, part in zip(here, slope, strict=True))
        later, _ = lookahead.validation_gradient(ahead, 6)
        assert float(loss - later) == pytest.approx(h * steepness, rel=0.2)


@pytest.mark.parametrize("backbone", [BACKBONE, "test_vit", "test_convnext", "test_efficientnet"])
def test_lookahead_is_the_step_that_the_model_takes_and_leaves_the_model_as_it_is(backbone: str) -> None:
    setting = Setting(backbone, epochs=1)
    watcher = Watcher(setting)
    result = setting.train(watcher)
    assert result.failure is None
    assert watcher.compared == 4  # 28 rows in batches of 8


def test_lookahead_draws_the_dropout_masks_of_the_step() -> None:
    setting = Setting(epochs=1)
    head = setting.model.get_classifier()
    setting.model.head.fc = nn.Sequential(nn.Dropout(0.5), head)
    watcher = Watcher(setting)
    assert setting.train(watcher).failure is None
    assert watcher.compared == 4


def test_random_state_gives_the_same_numbers_again_and_lets_the_stream_go_on() -> None:
    state = RandomState.now(torch.device("cpu"))
    first = torch.rand(3)
    with state.again():
        assert torch.equal(torch.rand(3), first)
        torch.rand(100)
    following = torch.rand(3)
    with state.again():
        torch.rand(3)
        assert torch.equal(torch.rand(3), following)


def test_meta_weight_net_trains_on_images_and_reports_its_validation_loss() -> None:
    setting = Setting(epochs=3)
    result = setting.train(MetaWeightNet(MetaWeightNetOptions(hidden=8, meta_batch_size=4, learning_rate=0.05)))
    history = pd.DataFrame(result.history)
    assert result.failure is None
    assert history["meta_loss"].gt(0).all()
    assert history[["weight_q05", "weight_q95"]].stack().between(0, 1).all()
    assert abs(history["weight_mean"][2] - history["weight_mean"][0]) > 0.01


# --- The bilevel problem ----------------------------------------------------------------------------------------------


class Asker(Method):
    """Empirical risk minimisation that asks for the bilevel problem after each epoch."""

    def __init__(self, *question: Any) -> None:
        super().__init__(None)
        self.question = question
        self.answers: list[BilevelProblem] = []

    def after_epoch(self, make_problem: MakeProblem, progress: Progress) -> None:
        self.answers.append(make_problem(*self.question))


@pytest.mark.parametrize("backbone", [BACKBONE, "test_convnext", "test_efficientnet", "test_resnet"])
@pytest.mark.parametrize("which", [None, "head", "all"])
def test_problem_is_the_model_in_evaluation_mode(backbone: str, which: str | None) -> None:
    setting = Setting(backbone, epochs=1)
    asker = Asker(which, None)
    assert setting.train(asker).failure is None
    (problem,) = asker.answers
    losses = torch.cat([part.losses(problem.parameters) for part in problem.validation])
    places = torch.cat([part.index for part in problem.validation])
    expected = cross_entropy(predict_logits(setting.model, setting.inputs, IMAGES, VALIDATION[0]), VALIDATION[1])
    torch.testing.assert_close(losses, expected[places], rtol=1e-4, atol=1e-5)
    indices = torch.cat([part.index for part in problem.train])
    assert sorted(indices.tolist()) == list(range(28))
    assert sum(part.losses(problem.parameters).shape[0] for part in problem.train) == 28
    own = list(setting.model.parameters() if which == "all" else setting.model.get_classifier().parameters())
    assert [p.shape for p in problem.parameters] == [p.shape for p in own]
    assert not problem.curvature


@pytest.mark.parametrize("which", ["head", "all"])
def test_curvature_is_taken_of_as_many_rows_as_asked_for_and_losses_repeat(which: str) -> None:
    asker = Asker(which, 11)
    assert Setting(epochs=2).train(asker).failure is None
    drawn = []
    for problem in asker.answers:
        index = torch.cat([part.index for part in problem.curvature])
        assert len(set(index.tolist())) == 11
        drawn.append(set(index.tolist()))
        for part in problem.train:
            assert torch.equal(part.losses(problem.parameters), part.losses(problem.parameters))
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("which", [None, "all"])
def test_bilevel_training_moves_weights_and_penalties_and_reports_the_solver(which: str | None) -> None:
    method = Bilevel(
        FossilBilevelOptions(parameters=which, weights_learning_rate=1.0, penalties_learning_rate=1.0, iterations=3)
    )
    result = Setting(epochs=2).train(method)
    history = pd.DataFrame(result.history)
    assert result.failure is None
    assert history["solver_residual"].gt(0).all()
    assert history["solver_iterations"].between(1, 3).all()
    assert method.upper is not None
    assert float(method.upper.weights.sum()) == pytest.approx(28, rel=1e-5)
    is_copy = method.upper.is_augmented
    assert (method.upper.penalties[is_copy] > 0).any()
    assert (method.upper.penalties[~is_copy] == 0).all()
    # Copies of one image differ in their augmentation, and so in their weights.
    assert len(set(method.upper.weights[is_copy].tolist())) > 4


# --- Online difficulty ------------------------------------------------------------------------------------------------


class DifficultyRecorder(Fossil):
    """FOSSIL that keeps the samples of each epoch and what the model says of the originals then."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(self.options_type())
        self.setting = setting
        self.epochs: list[tuple[Samples, Tensor]] = []

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        logits = predict_logits(self.setting.model, self.setting.inputs, IMAGES, torch.arange(COUNT))
        self.epochs.append((samples, logits.clone()))


@pytest.fixture
def recorded() -> list[tuple[Samples, Tensor]]:
    setting = Setting(epochs=2)
    method = DifficultyRecorder(setting)
    assert setting.train(method, online="softmax").failure is None
    return method.epochs


def test_online_difficulty_is_the_models_own_at_the_start_of_each_epoch(
    recorded: list[tuple[Samples, Tensor]],
) -> None:
    for samples, logits in recorded:
        p = logits.squeeze(-1).sigmoid()
        expected = 1 - torch.maximum(p, 1 - p)
        torch.testing.assert_close(samples.difficulty[:COUNT], expected, rtol=1e-4, atol=1e-6)
    assert not torch.equal(recorded[0][0].difficulty, recorded[1][0].difficulty)


def test_a_copy_has_the_online_difficulty_of_its_original(recorded: list[tuple[Samples, Tensor]]) -> None:
    for samples, _ in recorded:
        assert samples.is_augmented.tolist() == [False] * COUNT + [True] * 8
        assert torch.equal(samples.difficulty[COUNT:], samples.difficulty[:4].repeat(2))


def test_a_fold_trains_with_online_difficulty_and_without_it_asks_for_scores(study: Study) -> None:
    method = Fossil(Fossil.options_type())
    assert study.train(method, online="entropy").result.failure is None
    with pytest.raises(FoldTrainingError, match="Fossil needs the fold's difficulty scores"):
        study.train(method)
