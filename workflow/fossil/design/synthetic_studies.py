"""The comparisons of the studies of the synthetic section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING

from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE, Proxy
from fossil.config.synthetic import AUGMENTED, SyntheticScenario
from fossil.design.comparisons import ANY, GRID_FACTORS, Block, Row, row_key

if TYPE_CHECKING:
    from fossil.config.root import Config

RISING = "rising-temperature"
"""Variant of curriculum learning whose temperature rises, so that hard samples come in late instead of fading."""

# The paper's names of its rows, by the table's study. Its static row at 9:1 fits weights by class frequency and not by
# the inverse, so it is held against both.
_REPORTED = {
    "synthetic-results": {
        "erm": "ERM",
        "static": "Static weighting",
        "static_inverted": "Static weighting",
        "focal": "Focal loss",
        "meta_weight_net": "Meta-Weight-Net",
        "curriculum": "Curriculum learning",
        "fossil": "FOSSIL (ours)",
    },
    "synthetic-main": {
        "erm": "ERM",
        "static": "Static reweight.",
        "static_inverted": "Static reweight.",
        "focal": "Focal loss",
        "meta_weight_net": "Meta-Weight-Net",
        "curriculum": "Curriculum",
        "fossil": "FOSSIL",
    },
}
_REPORTED_RATIOS = (4.0, 9.0, 19.0)
_HEADLINE_RATIO = 9.0
PROXY_LABELS: dict[Proxy, str] = {
    "softmax": "Softmax",
    "entropy": "Entropy",
    "loss": "Loss",
    "unscaled_loss": "Loss, unscaled",
}
_REPORTED_PROXIES = {"softmax": "Softmax", "entropy": "Entropy", "loss": "Loss", "unscaled_loss": "Loss"}
_CAPTION_SEEDS = {"robustness-difficulty": 5, "difficulty-defs": 4}
"""Seeds that the captions of the paper's tables name."""


def studies(config: Config) -> dict[str, list[Block]]:
    """Return the blocks of every configured study, by the study's name.

    Rows have the paper's names only where their data are of the paper's protocol.
    """
    return {
        name: [_held_against_the_paper(config, name, block) for block in _STUDIES[name](config)]
        for name in config.synthetic.studies
    }


def configured_levels(config: Config) -> dict[str, str]:
    """Return the levels of the grid's factors that the configured FOSSIL has."""
    options = config.method_settings("fossil")["options"]
    return _levels(
        options["temperature"]["schedule"],
        options["class_term"],
        str(options["warmup_epochs"]),
        config.synthetic.difficulty_source,
    )


def augmented_scenario(config: Config) -> str:
    """Return the name of the headline scenario with augmented copies."""
    return f"{config.synthetic.headline}{AUGMENTED}"


def _synthetic_results(config: Config) -> list[Block]:
    headline, augmented = config.synthetic.headline, augmented_scenario(config)
    reported = _REPORTED["synthetic-results"]
    blocks = [
        _all_methods(config, headline, name="same-data", title="Every method on the same data", reported=reported),
        _all_methods(
            config,
            augmented,
            name="same-augmented-data",
            title="Every method on the same data with augmented copies",
            reported={},
        ),
    ]
    return [*blocks, *_paper_pairing(config, reported)]


def _held_against_the_paper(config: Config, study: str, block: Block) -> Block:
    """Remove the paper's names from rows whose data the paper does not have."""
    name = block.rows[0].scenario.removesuffix(AUGMENTED)
    scenario = config.synthetic.scenarios[name]
    ratios = _REPORTED_RATIOS if study == "synthetic-main" else (_HEADLINE_RATIO,)
    configured = scenario.model_dump(exclude={"validation_fraction", "standardise"})
    keys = set(configured)
    if any(configured == SyntheticScenario(imbalance_ratio=ratio).model_dump(include=keys) for ratio in ratios):
        return block
    return block.without_reported()


def _paper_pairing(config: Config, reported: dict[str, str]) -> Iterator[Block]:
    """Yield a block with the readings that fit the paper's rows: FOSSIL alone with copies, and two other baselines."""
    headline, methods = config.synthetic.headline, config.synthetic.methods
    if "fossil" not in methods:
        return
    rows = []
    for name in methods:
        if name == "fossil":
            label = f"{METHODS[name].label} + aug + penalty"
            rows.append(_row(augmented_scenario(config), name, label=label, reported=reported.get(name)))
        elif name == "curriculum":
            rows.append(_row(headline, name, RISING, label="Curriculum, rising T", reported=reported.get(name)))
        elif name in _REPORTED["synthetic-results"] and not (name == "static" and "static_inverted" in methods):
            rows.append(_row(headline, name, label=METHODS[name].label, reported=reported.get(name)))
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
        blocks.append(
            _all_methods(
                config,
                name,
                name=name,
                title=f"Imbalance ratio {ratio}:1",
                reported=_REPORTED["synthetic-main"],
                reported_ratio=ratio,
            )
        )
    return blocks


def _robustness_difficulty(config: Config) -> list[Block]:
    plain, augmented = config.synthetic.headline, augmented_scenario(config)
    rows = [
        _row(plain, "erm", label="ERM (no aug)", reported="ERM (no aug)"),
        _row(plain, "fossil", label="FOSSIL (no aug)", reported="FOSSIL (no aug)"),
        _row(augmented, "erm", label="ERM + aug", reported="ERM + Aug"),
        _row(augmented, "fossil", "penalty-only", label="ERM + aug + penalty"),
        _row(
            augmented, "fossil", "no-penalty", label="FOSSIL + aug (no penalty)", reported="FOSSIL + Aug (no penalty)"
        ),
        _row(augmented, "fossil", label="FOSSIL + aug + penalty", reported="FOSSIL + Aug + Penalty (ours)"),
    ]
    block = Block(name="augmentation", title="Augmentation and penalty", rows=rows, reference=rows[-1].key)
    return [block, *_captioned(config, "robustness-difficulty", block)]


def _difficulty_defs(config: Config) -> list[Block]:
    blocks = []
    places = (
        ("without-augmentation", config.synthetic.headline, "Without augmented copies"),
        ("with-augmentation", augmented_scenario(config), "With augmented copies and penalty"),
    )
    for name, scenario, title in places:
        rows = [
            _row(
                scenario,
                "fossil",
                BASELINE if proxy == config.synthetic.difficulty_proxy else proxy,
                label=label,
                reported=_REPORTED_PROXIES[proxy],
            )
            for proxy, label in PROXY_LABELS.items()
        ]
        block = Block(name=name, title=title, rows=rows, reference=rows[0].key)
        blocks += [block, *_captioned(config, "difficulty-defs", block)]
    return blocks


def _captioned(config: Config, study: str, block: Block) -> Iterator[Block]:
    """Yield the block again with the number of seeds in the paper's caption, where the study has more."""
    few = config.synthetic.seeds[: _CAPTION_SEEDS[study]]
    if len(few) < len(config.synthetic.seeds):
        title = f"{block.title}, the first {len(few)} seeds, as many as the paper has"
        yield block.model_copy(update={"name": f"{block.name}-{len(few)}", "title": title, "seeds": few})


def _sensitivity(config: Config) -> list[Block]:
    erm = _row(config.synthetic.headline, "erm", label=METHODS["erm"].label)
    rows = [erm, *_grid(config)]
    return [Block(name="grid", title="FOSSIL's options", rows=rows, reference=erm.key)]


def _grid(config: Config) -> Iterator[Row]:
    grid, configured = config.synthetic.sensitivity, configured_levels(config)
    asked: tuple[Iterable[str], ...] = (
        grid.schedules,
        grid.class_terms,
        map(str, grid.warmup_epochs),
        grid.difficulty_sources,
    )
    # Effects are measured from the configured level, so every factor has it.
    schedules, terms, warmups, sources = (
        dict.fromkeys([*levels, level]) for levels, level in zip(asked, configured.values(), strict=True)
    )
    for schedule, term, warmup in product(schedules, terms, warmups):
        # Without a difficulty term it does not matter who scores difficulty.
        for source in [ANY] if schedule == "infinite" else sources:
            levels = _levels(schedule, term, warmup, source)
            variant = BASELINE if levels == configured else f"{schedule}-{term}-warmup{warmup}-{source}"
            label = ", ".join(levels.values())
            yield Row(scenario=config.synthetic.headline, method="fossil", variant=variant, label=label, levels=levels)


def _levels(schedule: str, term: str, warmup: str, source: str) -> dict[str, str]:
    return dict(zip(GRID_FACTORS, (schedule, term, warmup, source), strict=True))


def _all_methods(
    config: Config, scenario: str, *, name: str, title: str, reported: dict[str, str], reported_ratio: str = ""
) -> Block:
    rows = [
        _row(scenario, method, label=METHODS[method].label, reported=reported.get(method))
        for method in config.synthetic.methods
    ]
    reference = row_key(scenario, config.synthetic.reference, BASELINE)
    return Block(name=name, title=title, rows=rows, reference=reference, reported_ratio=reported_ratio)


def _row(scenario: str, method: str, variant: str = BASELINE, *, label: str, reported: str | None = None) -> Row:
    return Row(scenario=scenario, method=method, variant=variant, label=label, reported=reported)


_STUDIES: dict[str, Callable[[Config], list[Block]]] = {
    "synthetic-results": _synthetic_results,
    "synthetic-main": _synthetic_main,
    "robustness-difficulty": _robustness_difficulty,
    "difficulty-defs": _difficulty_defs,
    "sensitivity": _sensitivity,
}
