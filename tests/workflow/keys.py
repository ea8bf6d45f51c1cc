"""What another value of each key of the configuration runs again in a finished study: by meaning, key by key."""

from __future__ import annotations

from typing import Any

from fossil.config.methods import METHODS
from tests.workflow.jobs import drawn
from tests.workflow.study import TINY

Jobs = frozenset[str]


def jobs(rule: str, *names: str) -> Jobs:
    return frozenset(f"{rule} {name}" for name in names)


# All methods on synthetic data, and three on phantoms: tuned too, tried on a second phantom and trained there.
PHANTOMS: dict[str, Any] = {
    **TINY,
    "synthetic": {**TINY["synthetic"], "methods": list(METHODS)},
    "images": {
        **TINY["images"],
        **{"variants": ["baseline", "tuned", "equal-budget"], "transfer": True, "refit": True},
        "tuning": {
            "grids": {"focal": {"gamma": [1.0, 3.0, 4.0]}, "fossil": {"gamma_scale": [1.0, 1.5, 2.0]}},
            **{"folds": 1, "epochs": 1, "seeds": [42], "budget": 1},
        },
    },
}
_TRIED = {**PHANTOMS["images"], "refit": False}
MSLD = {"msld_v2": {"download": True}}
PHOTOGRAPHS = {**PHANTOMS, "images": _TRIED, "datasets": {"pad_ufes_20": {"download": True}, **MSLD}}
OWN = {**PHANTOMS, "images": _TRIED, "datasets": {"custom": {"table": "own.csv"}, **MSLD}}

# Images: what follows from runs on the data set that is trained on and on the external one.
TEXTS = Jobs({"summarise_results", "write_pages"})
CLAIMS = Jobs({"judge_claims", "tabulate_claims"})
RANKS = Jobs(drawn("phantom-internal", source=("ranks",)))
TRADEOFFS = Jobs(drawn("phantom-internal", "phantom_external-transfer", source=("metrics",)))
IMAGE_TABLES = jobs("tabulate_study", "final-tuning", "internal-regret", "external-validation")
REFIT_TABLE = jobs("tabulate_study", "external-refit")
POINTS = Jobs(drawn("phantom-operating-point")) | {"measure_operating_points", "tabulate_operating_point"}
COMPARED = Jobs({"compare_methods", "rank_methods"})
# New runs of a method on the images, and everything that has its numbers.
EXTERNAL = Jobs({"predict_external", "collect_transfer"})
RUNS = COMPARED | EXTERNAL | POINTS | RANKS | TRADEOFFS | IMAGE_TABLES | TEXTS
RUNS |= {"train_fold", "collect_folds", "tabulate_tuning", "tabulate_environment"}
NEW = Jobs({"train_fold", "predict_external"})
TRIALS = Jobs({"train_trial", "collect_trials"})
CHOSEN = TRIALS | {"select_options"}
SCORES = Jobs({"score_difficulty", "tabulate_difficulty"})
TRAINED = RUNS | CHOSEN | SCORES | REFIT_TABLE
DESCRIBED = Jobs({"tabulate_dataset"}) | jobs("draw_figure", "dataset")
DIVIDED = TRAINED | DESCRIBED | {"make_folds"}
DECODED = DIVIDED | {"decode_images"}
READ = DECODED | {"make_manifest"}
DRAWN = READ | {"draw_phantom"}
# What is trained on the second phantom or tried on it.
SECOND = COMPARED | EXTERNAL | SCORES | DESCRIBED | REFIT_TABLE | TEXTS
SECOND |= Jobs(drawn("phantom_external-transfer")) | jobs("tabulate_study", "external-validation")
SECOND |= {"draw_phantom", "make_manifest", "decode_images", "make_folds", "train_fold", "collect_folds"}
SECOND |= {"tabulate_environment"}

# The synthetic section: what is made of all methods, and what is made of FOSSIL and ERM alone.
METHOD_TABLES = jobs("tabulate_study", "synthetic-results", "synthetic-main")
METHOD_FIGURES = Jobs(drawn("synthetic-results", "synthetic-main", source=("metrics",)))
SYNTHETIC_RANKS = Jobs(drawn("synthetic-results", source=("ranks",)))
EPOCHS = Jobs(drawn("synthetic-results", "synthetic-main", source=("histories",)))
THEORY = Jobs(drawn("theory")) | {"verify_theory"}
FOSSIL_TABLES = jobs("tabulate_study", "robustness-difficulty", "difficulty-defs")
FOSSIL_FIGURES = Jobs(drawn("robustness-difficulty", "difficulty-defs"))
GRID = Jobs(drawn("sensitivity")) | {"measure_effects", "tabulate_sensitivity"}
METHOD = METHOD_TABLES | METHOD_FIGURES | SYNTHETIC_RANKS | EPOCHS | THEORY | COMPARED | CLAIMS | TEXTS
METHOD |= {"train_stacked", "collect_stacked", "tabulate_environment"}
FOSSIL = METHOD | FOSSIL_TABLES | FOSSIL_FIGURES | GRID
STACKS = FOSSIL | {"train_grid"}
CELLS = COMPARED | GRID | TEXTS | {"train_grid", "collect_stacked", "tabulate_environment"}
GENERATED = STACKS | {"make_synthetic"}

TESTED = METHOD_TABLES | FOSSIL_TABLES | IMAGE_TABLES | REFIT_TABLE | CLAIMS | TEXTS
TESTED |= {"compare_methods", "measure_effects", "tabulate_sensitivity"}
NOTHING = Jobs()
FACTS = Jobs({"write_paper"})  # says what was run, and its protocol

# Photographs: the claims of the paper's data set are judged, and its models score every image of MSLD v2.0.
PAPER_READ = (READ - REFIT_TABLE) | CLAIMS | {"score_external"}
OWN_READ = (READ - REFIT_TABLE) | {"score_external"}
MSLD_READ = COMPARED | EXTERNAL | DESCRIBED | CLAIMS | TEXTS | {"score_external", "tabulate_difficulty"}
MSLD_READ |= Jobs(drawn("phantom_external-transfer")) | jobs("tabulate_study", "external-validation")
MSLD_READ |= {"make_manifest", "decode_images"}

# By key: another value, and what it runs again.
ON_PHANTOMS: dict[str, tuple[Any, Jobs]] = {
    # A job trains everything of a method, so that FOSSIL is trained anew without the runs of one study.
    "synthetic.studies": (
        ["synthetic-results", "synthetic-main", "robustness-difficulty", "sensitivity"],
        FOSSIL - jobs("tabulate_study", "difficulty-defs") - jobs("draw_figure", "difficulty-defs") | FACTS,
    ),
    "synthetic.scenarios": ({"ir9": {"n_samples": 250}}, GENERATED | FACTS),
    "synthetic.augmentation.classes": ("all", GENERATED | FACTS),
    "synthetic.augmentation.copies": (3, GENERATED | FACTS),
    "synthetic.augmentation.noise": (0.2, GENERATED | FACTS),
    "synthetic.methods": (["erm", "focal", "fossil"], (METHOD - {"train_stacked"}) | FACTS),
    "synthetic.reference": (
        "erm",
        (METHOD_TABLES | METHOD_FIGURES | SYNTHETIC_RANKS | EPOCHS | COMPARED | CLAIMS | TEXTS),
    ),
    "synthetic.seeds": ([1, 2, 3], GENERATED | FACTS),
    "synthetic.difficulty_proxy": ("entropy", STACKS),
    "synthetic.difficulty_source": ("frozen", STACKS),
    "synthetic.sensitivity.schedules": (["constant"], CELLS),
    "synthetic.sensitivity.class_terms": (["none"], CELLS),
    "synthetic.sensitivity.warmup_epochs": ([0], CELLS),
    "synthetic.sensitivity.difficulty_sources": (["online"], CELLS - {"train_grid"}),
    "synthetic.training.hidden": ([9], STACKS),
    "synthetic.training.epochs": (3, STACKS | FACTS),
    "synthetic.training.batch_size": (32, STACKS),
    "synthetic.training.learning_rate": (0.01, STACKS),
    "synthetic.training.dtype": ("float32", STACKS),
    "datasets.phantom.images": (120, DRAWN),
    "datasets.phantom.imbalance_ratio": (4.0, DRAWN),
    "datasets.phantom.images_per_patient": (1.5, DRAWN),
    "datasets.phantom.size": (80, DRAWN),
    "datasets.phantom.seed": (1, DRAWN),
    "datasets.phantom.shift": (0.1, DRAWN),
    "datasets.phantom_external.images": (120, SECOND),
    "datasets.phantom_external.imbalance_ratio": (4.0, SECOND),
    "datasets.phantom_external.images_per_patient": (1.5, SECOND),
    "datasets.phantom_external.size": (80, SECOND),
    "datasets.phantom_external.seed": (1, SECOND),
    "datasets.phantom_external.shift": (0.1, SECOND),
    "images.methods": (["erm", "fossil"], RUNS - NEW | REFIT_TABLE | FACTS | {"collect_trials"}),
    "images.variants": (["baseline", "tuned"], RUNS - NEW | REFIT_TABLE | FACTS),
    "images.reference": (
        "erm",
        COMPARED | RANKS | TRADEOFFS | IMAGE_TABLES | REFIT_TABLE | TEXTS | (POINTS - {"measure_operating_points"}),
    ),
    "images.seeds": ([1, 2], RUNS | REFIT_TABLE | FACTS),
    "images.folds": (3, DIVIDED | FACTS),
    "images.fold_seed": (1, DIVIDED),
    "images.validation_fraction": (0.2, DIVIDED),
    "images.difficulty_proxy": ("entropy", TRAINED),
    "images.difficulty_source": ("online", (TRAINED - SCORES) | FACTS),
    "images.difficulty_seed": (2, TRAINED),
    "images.operating_recall": (0.9, POINTS | {"write_pages"}),
    "images.transfer": (False, TEXTS | FACTS),
    "images.refit": (False, DESCRIBED | TEXTS | FACTS | {"tabulate_environment"}),
    "images.tensorboard": (True, NOTHING),
    "images.weights": ("hub", TRAINED | FACTS | {"fetch_weights"}),
    "images.tuning.grids": (
        {"focal": {"gamma": [1.0, 4.0, 5.0]}, "fossil": {"gamma_scale": [1.0, 1.5, 2.0]}},
        RUNS | CHOSEN | REFIT_TABLE,
    ),
    # These candidates are never chosen.
    "images.tuning.stage_wise": (True, TRIALS | TEXTS | FACTS | {"tabulate_tuning", "tabulate_environment"}),
    "images.tuning.folds": (2, RUNS | CHOSEN | REFIT_TABLE | FACTS),
    "images.tuning.seeds": ([43], RUNS | CHOSEN | REFIT_TABLE | FACTS),
    "images.tuning.epochs": (2, RUNS | CHOSEN | REFIT_TABLE | FACTS),
    "images.tuning.budget": (2, RUNS | REFIT_TABLE | {"select_options"}),
    "images.tuning.budget_seed": (3, RUNS | REFIT_TABLE | {"select_options"}),
    "images.training.backbone": ("resnet10t", TRAINED | FACTS),
    "images.training.size": (32, DECODED | FACTS),
    "images.training.interpolation": ("bilinear", DECODED),
    "images.training.epochs": (2, TRAINED | FACTS),
    "images.training.batch_size": (16, TRAINED),
    "images.training.optimiser": ("sgd", TRAINED),
    "images.training.learning_rate": (0.01, TRAINED),
    "images.training.schedule": ("cosine", TRAINED),
    "images.training.warmup_epochs": (1, TRAINED),
    "images.training.weight_decay": (0.1, TRAINED),
    "images.training.augmented_copies": (1, TRAINED | FACTS),
    "images.training.augmentation.originals": ("weak", TRAINED),
    "images.training.augmentation.copies": ("weak", TRAINED),
    "images.training.class_priors": ("rows", TRAINED | FACTS),
    "images.training.accelerator": ("cpu", TRAINED),
    "images.training.compile": (True, TRAINED),
    "images.training.threads": (2, TRAINED),
    "methods.effective_number.beta": (0.9, METHOD),
    "methods.meta_weight_net.hidden": (50, METHOD),
    "methods.curriculum.temperature.decay": (2.0, METHOD),
    "methods.fossil_bilevel.damping": (0.2, METHOD),
    "methods.focal.gamma": (4.0, METHOD | (TRAINED - SCORES)),
    "methods.fossil.beta": (0.9, STACKS | (TRAINED - SCORES)),
    "statistics.alpha": (
        0.9,
        (RANKS | SYNTHETIC_RANKS | METHOD_TABLES | FOSSIL_TABLES | IMAGE_TABLES | REFIT_TABLE | CLAIMS | TEXTS)
        | {"rank_methods", "tabulate_sensitivity"}
        | FACTS,
    ),
    "statistics.confidence": (0.9, TESTED | jobs("draw_figure", "robustness-difficulty") | FACTS),
    "statistics.shuffles": (300, TESTED | FACTS),
    "statistics.resamples": (300, TESTED),
    "statistics.seed": (1, TESTED),
    "publish.allow_uncommitted": (True, NOTHING),
    "publish.own_images": (True, NOTHING),
}
ON_PHOTOGRAPHS: dict[str, tuple[Any, Jobs]] = {
    "datasets.pad_ufes_20.positive": (["MEL"], PAPER_READ | FACTS),
    "datasets.pad_ufes_20.allow_missing": (True, PAPER_READ),
    "datasets.pad_ufes_20.mirror": ("https://mirror.example.org", NOTHING),
    "datasets.msld_v2.positive": (["Cowpox"], MSLD_READ | FACTS),
    "datasets.msld_v2.construction": ("paper", MSLD_READ | FACTS),
    "datasets.msld_v2.imbalance_ratio": (8.0, MSLD_READ),
    "datasets.msld_v2.paper_positive": (100, NOTHING),
    "datasets.msld_v2.paper_negative": (900, NOTHING),
    "datasets.msld_v2.seed": (1, MSLD_READ),
    "datasets.msld_v2.allow_missing_classes": (True, MSLD_READ),
    "datasets.msld_v2.sha256": ("a" * 64, MSLD_READ | {"download_msld_v2"}),
}
ON_OWN: dict[str, tuple[Any, Jobs]] = {
    "datasets.custom.image_column": ("other", OWN_READ),
    "datasets.custom.label_column": ("other", OWN_READ),
    "datasets.custom.patient_column": ("other", OWN_READ),
    "datasets.custom.split_column": ("other", OWN_READ | FACTS),
    "datasets.custom.positive": (["a"], OWN_READ | FACTS),
}
STUDIES = {"phantoms": (PHANTOMS, ON_PHANTOMS), "photographs": (PHOTOGRAPHS, ON_PHOTOGRAPHS), "own": (OWN, ON_OWN)}
# These name another data set, whose files are others; runs that lack are a question of a study that was made.
OTHERS = {"images.dataset", "datasets.custom.table", "allow_missing_runs"}
OTHERS |= {f"datasets.{name}.{key}" for name in ("pad_ufes_20", "msld_v2") for key in ("root", "download")}

# What is trained where not everything is: jobs of the synthetic section, and methods on images with their variants.
TRAINS = {
    "synthetic.difficulty_proxy": {
        "curriculum",
        "fossil",
        "fossil_bilevel",
        "sensitivity-online",
        "sensitivity-frozen",
    },
    "synthetic.sensitivity.schedules": {"sensitivity-online", "sensitivity-frozen"},
    "images.difficulty_proxy": {"fossil-baseline", "fossil-tuned", "fossil-equal-budget"},
    "images.tuning.budget": {"focal-equal-budget", "fossil-equal-budget"},
    "images.tuning.budget_seed": {"focal-equal-budget", "fossil-equal-budget"},
    "methods.focal.gamma": {"focal", "focal-baseline", "focal-tuned", "focal-equal-budget"},
}
