"""Which tables and figures of the studies on images there are, and what each needs to know."""

from __future__ import annotations

from fossil.config.datasets import DATASETS, PHANTOMS, DatasetName
from fossil.config.root import Config
from fossil.config.strict import BASELINE
from fossil.config.tuning import SEARCHED
from fossil.design.comparisons import Block
from fossil.design.image_studies import internal_study, operating_points
from fossil.reporting.entries import Figure, Table

_PERFORMANCE = ("auc", "balanced_accuracy", "g_mean", "f1", "recall")
_REGRETS = (
    *("static_regret", "dynamic_regret", "area_under_regret_curve"),
    *("area_under_risk_coverage", "expected_calibration_error", "brier_score"),
)


def image_tables(config: Config, blocks: dict[str, list[Block]]) -> dict[str, Table]:
    """Make the entries of the tables of studies on images, but those of the search, by file name."""
    internal, external = internal_study(config), config.external_dataset
    title = dataset_description(config, config.image_dataset)
    rows = _rows_sentence(config)
    found = {
        "final-tuning": Table(
            internal,
            f"{title}: {rows}.",
            (*_PERFORMANCE, "dynamic_regret"),
        ),
        "internal-regret": Table(internal, f"{title}: regret and calibration, {rows}.", _REGRETS, printed=False),
    }
    if f"{external}-transfer" in blocks:
        title = f"{dataset_description(config, external)}: models trained on {_trained_on(config)}, {rows}."
        found["external-validation"] = Table(
            f"{external}-transfer",
            title,
            (*_PERFORMANCE, "generalization_gap"),
        )
    if f"{external}-refit" in blocks:
        title = f"{dataset_description(config, external)}: models trained there, {rows}."
        found["external-refit"] = Table(
            f"{external}-refit",
            title,
            (*_PERFORMANCE, "dynamic_regret"),
        )
    return found


def image_figures(config: Config, blocks: dict[str, list[Block]]) -> dict[str, Figure]:
    """Make the entries of the figures of studies on images, by file name."""
    internal, transfer = internal_study(config), f"{config.external_dataset}-transfer"

    def figure(study: str, title: str) -> Figure:
        return Figure(study, "metrics", {"title": title, "block": _one_row_a_method(blocks[study][0])})

    points = {"title": "operating points", "block": _one_row_a_method(blocks[internal][0])}
    found = {
        "padufes-tradeoff": figure(internal, "regret in training against performance in the test"),
        "operating-point": Figure(
            operating_points(config), "metrics", {**points, "recall": config.images.operating_recall}
        ),
    }
    if len((block := blocks[internal][0]).rows) > 2:
        title = "mean ranks over folds" if config.image_folds > 1 else "mean ranks over seeds"
        found["padufes-ranks"] = Figure(internal, "ranks", {"title": title, "block": block})
    if transfer in blocks:
        found["external-tradeoff"] = figure(transfer, f"models trained on {_trained_on(config)}")
    return found


def dataset_description(config: Config, dataset: DatasetName) -> str:
    """Say what a data set is: the start of the caption of its table."""
    if dataset in PHANTOMS:
        return DATASETS[dataset]
    options = getattr(config.datasets, dataset)
    built = f", construction {options.construction}" if dataset == "msld_v2" else ""
    return f"{DATASETS[dataset]}{built}, positive: {', '.join(options.positive)}"


def difficulty_description(config: Config, dataset: DatasetName, *, scored_by: DatasetName) -> tuple[str, list[str]]:
    """Say whose difficulty was scored by models of which data set: the caption's start, and sentences below."""
    proxy = config.images.difficulty_proxy
    models = f"an ERM of seed {config.images.difficulty_seed} trained on the fold's training images"
    thirds = "Stages are thirds by quantile of each model's scores."
    if dataset == scored_by:
        title = f"{DATASETS[dataset]}: difficulty of the training images ({proxy}), scored by {models}"
        return title, [thirds]
    notes = [thirds, "The paper does not say which of its models scored."]
    if config.datasets.msld_v2.construction == "originals":
        notes.append("The paper's images are originals and augmented copies; these are originals alone.")
    title = dataset_description(config, dataset)
    return f"{title}: difficulty ({proxy}), scored by {models} of {DATASETS[scored_by]}", notes


def _one_row_a_method(block: Block) -> Block:
    """Keep a row of each method, the tuned one where there is one: the figures have a colour a method."""
    best = {row.method: row for row in block.rows if row.variant == BASELINE}
    best |= {row.method: row for row in block.rows if row.variant != BASELINE and row.method not in best}
    best |= {row.method: row for row in block.rows if row.variant == "tuned"}
    rows = [row for row in block.rows if row in best.values()]
    return block.model_copy(update={"rows": rows})


def _trained_on(config: Config) -> str:
    """Name the data set that is trained on, in a title that names the external one; of two phantoms it is the first."""
    drawn = config.image_dataset in PHANTOMS and config.external_dataset in PHANTOMS
    return "the first phantom" if drawn else DATASETS[config.image_dataset]


def _rows_sentence(config: Config) -> str:
    tuned = any(variant in config.images.variants for variant in (*SEARCHED, "printed"))
    return "every method as configured and tuned" if tuned else "every method as configured"
