"""Curriculum learning by a temperature."""

from __future__ import annotations

from typing import ClassVar

from fossil.config.methods.base import MethodEntry, MethodOptions
from fossil.config.methods.temperature import TemperatureOptions


class CurriculumOptions(MethodOptions):
    """Curriculum learning: weights exp(-d / T_t)."""

    uses_difficulty: ClassVar[bool] = True

    temperature: TemperatureOptions = TemperatureOptions()


METHODS = {
    "curriculum": MethodEntry(
        target="fossil.methods.curriculum:Curriculum", label="Curriculum learning", options=CurriculumOptions, order=70
    ),
}
