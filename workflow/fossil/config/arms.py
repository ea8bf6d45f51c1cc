"""The synthetic section: what is trained, and what its studies compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from fossil.config.comparisons import Block, Row, Variant, row_key
from fossil.config.methods import BASELINE, METHODS
from fossil.config.strict import Name, Strict
from fossil.config.studies import DifficultySource, Proxy, SyntheticAugmentation, SyntheticScenario

if TYPE_CHECKING:
    from fossil.config import Config

GRID_FACTORS = ("schedule", "class_term", "warmup_epochs", "difficulty_source")

# The paper's names of its rows, by the table's study. Its static row at 9:1 fits weights by class frequency and not by
# the inverse, which is why the mixed pairing holds the inverted weights against it.
_PRINTED = {
    "synthetic-results": {
        "erm": "ERM",
        "static": "Static weighting",
        "focal": "Focal loss",
        "meta_weight_net": "Meta-Weight-Net",
        "curriculum": "Curriculum learning",
        "fossil": "FOSSIL (ours)",
    },
    "synthetic-main": {
        "erm": "ERM",
        "static": "Static reweight.",
        "focal": "Focal loss",
        "meta_weight_net": "Meta-Weight-Net",
        "curriculum": "Curriculum",
        "fossil": "FOSSIL",
    },
}
_PRINTED_RATIOS = (4, 9, 19)
_HEADLINE_RATIO = 9
_PROXY_LABELS: dict[Proxy, str] = {"softmax": "Softmax", "entropy": "Entropy", "loss": "Loss"}
_CAPTION_SEEDS = 4
"""Seeds of the paper's table of difficulty definitions."""


class Arm(Strict):
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
        """Key of the rows that show it."""
        return row_key(self.scenario, self.method, self.variant)


class Problem(Strict):
    """A generated problem, with augmented copies or without."""

    scenario: SyntheticScenario
    augmentation: SyntheticAugmentation | None


def problems(config: Config) -> dict[str, Problem]:
    """Find the problems that the studies need, by name; one with augmented copies is called {headline}_augmented."""
    needed = {row.scenario for blocks in studies(config).values() for block in blocks for row in block.rows}
    scenarios = config.synthetic.scenarios
    found = {name: Problem(scenario=value, augmentation=None) for name, value in scenarios.items() if name in needed}
    augmented = augmented_scenario(config)
    if augmented in needed:
        headline = scenarios[config.synthetic.headline]
        found[augmented] = Problem(scenario=headline, augmentation=config.synthetic.augmentation)
    return found


def studies(config: Config) -> dict[str, list[Block]]:
    """Make the blocks of every study that the configuration asks for, by the study's name."""
    return {name: _STUDIES[name](config) for name in config.synthetic.studies}


def batches(config: Config) -> dict[str, list[Arm]]:
    """Put what is trained into jobs: one a method's module, and for the grid one a class term and difficulty's source.

    A job costs seconds to start and about one to train an arm, so few large jobs are faster than many small ones; and
    an edit of a module trains all of its methods anyway.
    """
    rows = {row.key: row for blocks in studies(config).values() for block in blocks for row in block.rows}
    found: dict[str, list[Arm]] = {}
    for row in rows.values():
        found.setdefault(_batch(config, row), []).append(_arm(config, row))
    return found


def configured_levels(config: Config) -> dict[str, str]:
    """Levels of the grid's factors that the configured FOSSIL has."""
    options = config.method_settings("fossil")["options"]
    return _levels(
        options["temperature"]["schedule"],
        options["class_term"],
        str(options["warmup_epochs"]),
        config.synthetic.difficulty_source,
    )


def augmented_scenario(config: Config) -> str:
    """Name of the headline scenario with augmented copies."""
    return f"{config.synthetic.headline}_augmented"


def _synthetic_results(config: Config) -> list[Block]:
    headline, augmented = config.synthetic.headline, augmented_scenario(config)
    known = config.synthetic.scenarios[headline].imbalance_ratio == _HEADLINE_RATIO
    printed = _PRINTED["synthetic-results"] if known else {}
    blocks = [
        _all_methods(config, headline, name="same-data", title="Every method on the same data", printed=printed),
        _all_methods(
            config,
            augmented,
            name="same-augmented-data",
            title="Every method on the same data with augmented copies",
            printed={},
        ),
    ]
    return [*blocks, *_paper_pairing(config, printed)]


def _paper_pairing(config: Config, printed: dict[str, str]) -> Iterator[Block]:
    methods = [name for name in config.synthetic.methods if name in _PRINTED["synthetic-results"]]
    if "fossil" not in methods:
        return
    rows = []
    for name in methods:
        shown = "static_inverted" if name == "static" and "static_inverted" in config.synthetic.methods else name
        scenario = augmented_scenario(config) if name == "fossil" else config.synthetic.headline
        label = f"{METHODS[name].label} + aug + penalty" if name == "fossil" else METHODS[shown].label
        rows.append(_row(scenario, shown, label=label, printed=printed.get(name)))
    yield Block(
        name="paper-pairing",
        title="The paper's pairing: FOSSIL with augmented copies, the others without",
        rows=rows,
        reference=row_key(augmented_scenario(config), "fossil", BASELINE),
    )


def _synthetic_main(config: Config) -> list[Block]:
    blocks = []
    scenarios = sorted(config.synthetic.scenarios.items(), key=lambda item: item[1].imbalance_ratio)
    for name, scenario in scenarios:
        ratio = f"{scenario.imbalance_ratio:g}"
        known = scenario.imbalance_ratio in _PRINTED_RATIOS
        blocks.append(
            _all_methods(
                config,
                name,
                name=name,
                title=f"Imbalance ratio {ratio}:1",
                printed=_PRINTED["synthetic-main"] if known else {},
                printed_ratio=ratio if known else "",
            )
        )
    return blocks


def _robustness_difficulty(config: Config) -> list[Block]:
    plain, augmented = config.synthetic.headline, augmented_scenario(config)
    rows = [
        _row(plain, "erm", label="ERM (no aug)", printed="ERM (no aug)"),
        _row(plain, "fossil", label="FOSSIL (no aug)", printed="FOSSIL (no aug)"),
        _row(augmented, "erm", label="ERM + aug", printed="ERM + Aug"),
        _row(augmented, "fossil", "penalty-only", label="ERM + aug + penalty"),
        _row(augmented, "fossil", "no-penalty", label="FOSSIL + aug (no penalty)", printed="FOSSIL + Aug (no penalty)"),
        _row(augmented, "fossil", label="FOSSIL + aug + penalty", printed="FOSSIL + Aug + Penalty (ours)"),
    ]
    return [Block(name="augmentation", title="Augmentation and penalty", rows=rows, reference=rows[-1].key)]


def _difficulty_defs(config: Config) -> list[Block]:
    blocks = []
    places = (
        ("without-augmentation", config.synthetic.headline, "Without augmented copies"),
        ("with-augmentation", augmented_scenario(config), "With augmented copies and penalty"),
    )
    few = config.synthetic.seeds[:_CAPTION_SEEDS]
    for name, scenario, title in places:
        rows = [
            _row(scenario, "fossil", BASELINE if proxy == config.synthetic.difficulty_proxy else proxy, label=label)
            for proxy, label in _PROXY_LABELS.items()
        ]
        rows = [row.model_copy(update={"printed": row.label}) for row in rows]
        blocks.append(Block(name=name, title=title, rows=rows, reference=rows[0].key))
        if len(few) < len(config.synthetic.seeds):
            counted = f"{title}, the first {len(few)} seeds, as many as the paper has"
            short = Block(name=f"{name}-{len(few)}", title=counted, rows=rows, reference=rows[0].key, seeds=few)
            blocks.append(short)
    return blocks


def _sensitivity(config: Config) -> list[Block]:
    erm = _row(config.synthetic.headline, "erm", label=METHODS["erm"].label)
    rows = [erm, *_grid(config)]
    return [Block(name="grid", title="FOSSIL's options", rows=rows, reference=erm.key)]


def _grid(config: Config) -> Iterator[Row]:
    grid, configured = config.synthetic.sensitivity, configured_levels(config)
    asked = (grid.schedules, grid.class_terms, map(str, grid.warmup_epochs), grid.difficulty_sources)
    # Effects are measured from the configured level, so every factor has it.
    schedules, terms, warmups, sources = (
        dict.fromkeys([*levels, level]) for levels, level in zip(asked, configured.values(), strict=True)
    )
    for schedule, term, warmup in product(schedules, terms, warmups):
        # Without a difficulty term it does not matter who scores difficulty.
        for source in ["any"] if schedule == "infinite" else sources:
            levels = _levels(schedule, term, warmup, source)
            variant = BASELINE if levels == configured else f"{schedule}-{term}-warmup{warmup}-{source}"
            label = ", ".join(levels.values())
            yield Row(scenario=config.synthetic.headline, method="fossil", variant=variant, label=label, levels=levels)


def _levels(schedule: str, term: str, warmup: str, source: str) -> dict[str, str]:
    return dict(zip(GRID_FACTORS, (schedule, term, warmup, source), strict=True))


def _all_methods(
    config: Config, scenario: str, *, name: str, title: str, printed: dict[str, str], printed_ratio: str = ""
) -> Block:
    rows = [
        _row(scenario, method, label=METHODS[method].label, printed=printed.get(method))
        for method in config.synthetic.methods
    ]
    reference = row_key(scenario, config.synthetic.reference, BASELINE)
    return Block(name=name, title=title, rows=rows, reference=reference, printed_ratio=printed_ratio)


def _row(scenario: str, method: str, variant: str = BASELINE, *, label: str, printed: str | None = None) -> Row:
    return Row(scenario=scenario, method=method, variant=variant, label=label, printed=printed)


def _batch(config: Config, row: Row) -> str:
    if not row.levels or row.variant == BASELINE:
        return METHODS[row.method].target.partition(":")[0].rpartition(".")[2]
    source = row.levels["difficulty_source"]
    return f"sensitivity-{row.levels['class_term']}-{'online' if source == 'any' else source}"


def _arm(config: Config, row: Row) -> Arm:
    settings = config.method_settings(row.method, _overrides(row))
    looks = METHODS[row.method].uses_difficulty
    source = row.levels.get("difficulty_source", config.synthetic.difficulty_source)
    proxy = row.variant if row.variant in _PROXY_LABELS else config.synthetic.difficulty_proxy
    return Arm(
        scenario=row.scenario,
        method=row.method,
        variant=row.variant,
        target=settings["target"],
        options=settings["options"],
        proxy=proxy if looks else None,
        source=(config.synthetic.difficulty_source if source == "any" else source) if looks else None,
    )


def _overrides(row: Row) -> dict[str, Any]:
    """Options in which a variant differs from the configured method."""
    if row.variant == BASELINE:
        return {}
    if row.levels:
        return {
            "temperature": {"schedule": row.levels["schedule"]},
            "class_term": row.levels["class_term"],
            "warmup_epochs": int(row.levels["warmup_epochs"]),
        }
    return _VARIANTS.get(row.variant, {})


_VARIANTS: dict[str, dict[str, Any]] = {
    "no-penalty": {"gamma_scale": 0.0},
    "penalty-only": {"class_term": "none", "temperature": {"schedule": "infinite"}, "warmup_epochs": 0},
}

_STUDIES: dict[str, Callable[[Config], list[Block]]] = {
    "synthetic-results": _synthetic_results,
    "synthetic-main": _synthetic_main,
    "robustness-difficulty": _robustness_difficulty,
    "difficulty-defs": _difficulty_defs,
    "sensitivity": _sensitivity,
}
