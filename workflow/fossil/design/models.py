"""The parts of the design that jobs get: run configurations, problems and candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fossil.config.strict import DifficultySource, Name, Proxy, Strict, Variant
from fossil.config.synthetic import SyntheticAugmentation, SyntheticScenario
from fossil.design.comparisons import row_key


class RunConfig(Strict):
    """A method with its options on a scenario; all its seeds are trained together.

    ``proxy`` and ``source`` say what makes a sample difficult and who scores it; null for a method that looks at no
    difficulty.
    """

    scenario: Name
    method: Name
    variant: Variant
    target: str
    options: dict[str, Any]
    proxy: Proxy | None
    source: DifficultySource | None

    @property
    def key(self) -> str:
        """Return the key of the rows that show it."""
        return row_key(self.scenario, self.method, self.variant)


class Problem(Strict):
    """A generated problem, with augmented copies or without."""

    scenario: SyntheticScenario
    augmentation: SyntheticAugmentation | None


class Candidate(Strict):
    """Options to try.

    Attributes
    ----------
    variant : str
        Name, which says the values of the options that differ between candidates.
    options : dict
        Laid over the configured ones.
    trained_as : str
        Candidate whose trials are this one's too, since both train alike; often itself.
    may_win : bool
        Whether it can be chosen.
    in_budget : bool
        Whether it is among those that are compared where every method has equally many.
    """

    method: Name
    variant: Variant
    options: dict[str, Any]
    trained_as: Variant
    may_win: bool = True
    in_budget: bool = False


class Search(Strict):
    """The search of a method, for a table.

    Attributes
    ----------
    options : list of str
        Options that the grid has, or those that the paper tunes; empty for a method without any.
    configured, reported : dict
        Their configured values, and those that the paper prints as tuned; empty where it prints none.
    """

    method: Name
    label: str
    candidates: list[Candidate]
    options: list[str]
    configured: dict[str, Any]
    reported: dict[str, Any]


def option_at(options: Mapping[str, Any], key: str) -> Any:
    """Return an option by its key in a grid, such as temperature.minimum; None if missing."""
    value: Any = options
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
