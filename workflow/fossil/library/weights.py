"""Eq. 1 for your own training loop."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.config.strict import Proxy
from fossil.difficulty import difficulty as score
from fossil.difficulty import stage_of, stage_thresholds
from fossil.library import checks
from fossil.methods.base import Progress, Samples
from fossil.methods.fossil import closed_form
from fossil.schedules import temperature

_FIXED = ("class_counts", "epochs", "proxy", "options")


class FossilWeights:
    """FOSSIL's closed-form sample weights (Eq. 1): call it with each batch, step it after each epoch.

    A weight depends on its sample and the epoch, never on the batch. Shards of a batch on several processes therefore
    have the weights of the whole; every process steps its own object.

    Parameters
    ----------
    class_counts : sequence, array or Tensor of shape (K,)
        Original training samples per class, without augmented copies, such as ``torch.bincount(targets)``.
    epochs : int
        T, the length of the schedules. Training may continue after them; t/T then stays 1.
    options : FossilOptions
        All other terms of Eq. 1; by default the paper's.
    proxy : {"softmax", "entropy"}
        How logits give difficulty: 1 - max_k p_k, or entropy divided by log K.
    check : bool
        Check the values of labels, logits and scores in each call, which on a GPU waits for the device. Without the
        check, ``torch.compile`` compiles a call into one graph.

    Raises
    ------
    ValueError
        If an argument has another type, shape or range; the message names it.
    """

    def __init__(
        self,
        class_counts: Any,
        *,
        epochs: int,
        options: FossilOptions | None = None,
        proxy: Proxy = "softmax",
        check: bool = True,
    ) -> None:
        self.class_counts = checks.check_class_counts(class_counts)
        self.epochs = checks.check_positive_integer(epochs, "epochs")
        if proxy not in ("softmax", "entropy"):
            raise ValueError(
                f"proxy: expected 'softmax' or 'entropy', got {proxy!r}; a loss is scaled over the whole training set, "
                "which a batch does not show: give difficulty=, which fossil.difficulty.difficulty computes for all"
            )
        checks.check_options(options, FossilOptions)
        self.options = FossilOptions() if options is None else options
        self.proxy: Proxy = proxy
        self.check = check
        self._classes = len(self.class_counts)
        self._epoch = 0
        self._device = torch.device("cpu")
        self._log_multipliers = torch.tensor(self.options.stage_multipliers, dtype=torch.float64).log()
        self._thresholds: Tensor | None = None
        self._set_epoch(0)

    @property
    def epoch(self) -> int:
        """Return t, the number of finished epochs."""
        return self._epoch

    @torch.no_grad()
    def __call__(
        self,
        targets: Tensor,
        *,
        logits: Tensor | None = None,
        difficulty: Tensor | None = None,
        is_augmented: Tensor | None = None,
    ) -> Tensor:
        """Return weights of shape (n,), at least float32, without gradient.

        Parameters
        ----------
        targets : Tensor of integers, shape (n,)
            Class indices.
        logits : Tensor, shape (n, K), or (n,) or (n, 1) for two classes
            Scores of the current model, for online difficulty; detached.
        difficulty : Tensor, shape (n,)
            Scores in [0, 1] instead of logits, such as those of an earlier model.
        is_augmented : Tensor of bool, shape (n,)
            Which samples are augmented copies; none by default.

        Raises
        ------
        ValueError
            If an argument has another type, shape or range, if both or neither of logits and difficulty are given, or
            in stage mode before ``set_stages``.
        """
        checks.check_integers(targets, "targets")
        rows, scores = self._difficulty(targets, logits, difficulty)
        if is_augmented is None:
            is_augmented = torch.zeros_like(targets, dtype=torch.bool)
        if is_augmented.dtype != torch.bool:
            raise ValueError(f"is_augmented: expected bool, got {is_augmented.dtype}; convert with .bool()")
        checks.check_alike(is_augmented, "is_augmented", targets)
        if self.check:
            checks.check_values(targets, self._classes, logits=rows, scores=scores)
        self._move(targets.device)
        log_weights = self._log_table[targets.long() + self._classes * is_augmented].to(scores.dtype)
        return (log_weights + self._log_difficulty_term(scores)).exp()

    def set_stages(self, difficulty: Tensor) -> None:
        """Set the stages of the stage-wise variant by quantiles of all training samples' difficulty.

        Parameters
        ----------
        difficulty : Tensor, shape (N,)
            Scores in [0, 1] of the whole training set, not of one batch or shard.

        Raises
        ------
        ValueError
            Without ``stage_mode`` in the options, or if a score is not a float in [0, 1].
        """
        if not self.options.stage_mode:
            raise ValueError("options: there are no stages without FossilOptions(stage_mode=True)")
        if difficulty.dim() != 1 or not len(difficulty) or not difficulty.is_floating_point():
            raise ValueError(
                f"difficulty: expected floats of shape (N,), got {difficulty.dtype} of shape {tuple(difficulty.shape)}"
            )
        checks.check_scores(difficulty)
        self._thresholds = self._place(stage_thresholds(difficulty.detach(), self.options.stage_quantiles))

    def step(self) -> None:
        """Finish an epoch: t becomes t + 1."""
        self._set_epoch(self._epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint; ``torch.load(..., weights_only=True)`` reads it."""
        return self._fixed() | {
            "epoch": self._epoch,
            "thresholds": None if self._thresholds is None else self._thresholds.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state of ``state_dict``.

        Raises
        ------
        ValueError
            If the state has other keys, class counts, epochs, proxy or options.
        """
        if set(state) != {*_FIXED, "epoch", "thresholds"}:
            raise ValueError(f"state: has {sorted(state)}, expected {sorted({*_FIXED, 'epoch', 'thresholds'})}")
        current = self._fixed()
        for name in _FIXED:
            if state[name] != current[name]:
                difference = _difference(name, state[name], current[name])
                raise ValueError(f"state: {difference}; make the weights as they were")
        checks.check_epoch(state["epoch"])
        thresholds = state["thresholds"]
        self._thresholds = None if thresholds is None else self._place(torch.tensor(thresholds, dtype=torch.float64))
        self._set_epoch(state["epoch"])

    def _difficulty(
        self, targets: Tensor, logits: Tensor | None, scores: Tensor | None
    ) -> tuple[Tensor | None, Tensor]:
        if (logits is None) == (scores is None):
            given = "neither" if logits is None else "both"
            raise ValueError(f"logits, difficulty: expected exactly one of them, got {given}")
        if logits is not None:
            checks.check_tensor(logits, "logits")
            rows = checks.as_rows(logits, targets, self._classes)
            return rows, score(rows, targets, proxy=self.proxy)
        scores = checks.check_tensor(scores, "difficulty")
        if not scores.is_floating_point():
            raise ValueError(f"difficulty: expected floats, got {scores.dtype}")
        checks.check_alike(scores, "difficulty", targets)
        return None, scores.detach().to(torch.promote_types(scores.dtype, torch.float32))

    def _log_difficulty_term(self, scores: Tensor) -> Tensor:
        if not self.options.stage_mode:
            return -scores / self._temperature
        if self._thresholds is None:
            raise ValueError("stages: call set_stages with the difficulty of all training samples first")
        return self._log_multipliers[stage_of(scores, self._thresholds)].to(scores.dtype)

    def _set_epoch(self, epoch: int) -> None:
        """Compute what changes with the epoch, as tensors, so that a compiled call is not recompiled."""
        self._epoch = epoch
        # After the last epoch the schedules stay at t/T = 1; the warm-up counts epochs and may still continue.
        progress = Progress(epoch, max(epoch, self.epochs))
        classes = torch.arange(self._classes)
        both = Samples(
            targets=classes.repeat(2),
            difficulty=torch.zeros(2 * self._classes, dtype=torch.float64),
            is_augmented=torch.arange(2 * self._classes) >= self._classes,
            class_counts=self.class_counts.double(),
            index=classes.repeat(2),
        )
        without_stages = self.options.model_copy(update={"stage_mode": False})
        self._log_table = self._place(closed_form(both, without_stages, progress).log())
        heat = temperature(progress.fraction, self.options.temperature)
        self._temperature = self._place(torch.tensor(heat, dtype=torch.float64))

    def _move(self, device: torch.device) -> None:
        if device == self._device:
            return
        self._device = device
        self._log_table, self._temperature = self._place(self._log_table), self._place(self._temperature)
        self._log_multipliers = self._place(self._log_multipliers)
        if self._thresholds is not None:
            self._thresholds = self._place(self._thresholds)

    def _place(self, values: Tensor) -> Tensor:
        """Move values to the device of the last targets, in float64 where the device has it."""
        return values.to(self._device, torch.float32 if self._device.type == "mps" else torch.float64)

    def _fixed(self) -> dict[str, Any]:
        return {
            "class_counts": self.class_counts.tolist(),
            "epochs": self.epochs,
            "proxy": self.proxy,
            "options": self.options.model_dump(mode="json"),
        }


def _difference(name: str, saved: Any, current: Any) -> str:
    """Describe the innermost keys in which two settings differ."""
    if isinstance(saved, dict) and isinstance(current, dict):
        keys = [key for key in {**current, **saved} if saved.get(key) != current.get(key)]
        return ", ".join(_difference(f"{name}.{key}", saved.get(key), current.get(key)) for key in keys)
    return f"{name} was {saved!r}, but is {current!r}"
