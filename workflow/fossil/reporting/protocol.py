"""What holds for all tables and figures of a run, said once: how runs are made, measured, tested and printed."""

from __future__ import annotations

from fossil.config.root import Config
from fossil.design.candidates import searches
from fossil.design.synthetic_studies import studies


def protocol(config: Config) -> dict[str, list[str]]:
    """Return the sentences of the page "Protocol", in plain text, by heading."""
    sections = {
        "Reading a table": _reading(),
        "Metrics": _metrics(),
        "Tests": _tests(config),
        "Synthetic data": _synthetic(config) if studies(config) else [],
        "Images": _images(config),
        "Search for options": _search(config),
        "The paper's numbers": _paper(),
    }
    return {heading: sentences for heading, sentences in sections.items() if sentences}


def _reading() -> list[str]:
    return [
        "Cells are means over runs, with the standard deviation below; a dash stands where nothing was measured.",
        "n counts runs; a row that lacks runs says how many it has.",
        "Bold: the best mean of a column in its block, the lowest where an arrow points down.",
        "Ties at the printed precision are all bold, and nothing is bold where more than half of the rows tie.",
        "A method marked with a double dagger learns its weights on the validation split. Regret, thresholds and "
        "trials are measured on that split too, which may flatter the method.",
    ]


def _metrics() -> list[str]:
    return [
        "Decisions are at probability 0.5; the minority class is positive. Balanced error is 1 minus balanced "
        "accuracy.",
        "Regret is that of the unweighted validation loss, the same for all methods, as a mean over epochs.",
        "Static regret is the distance of the loss to its smallest value of all epochs.",
        "Dynamic regret is the distance of the loss to its smallest value so far.",
        "AURC is the area under the running mean of dynamic regret.",
        "Regret is never bold: a loss that never falls has none, however high it is.",
        "ECE is the expected calibration error over ten bins of equal width (Naeini et al. 2015).",
    ]


def _tests(config: Config) -> list[str]:
    statistics = config.statistics
    sentences = [
        "p-values are two-sided. They compare balanced accuracy with the row marked as reference, over runs of the "
        "same fold and seed that both rows have.",
        "Wilc. is the Wilcoxon signed-rank test; Perm. is the sign-flip permutation test of the mean.",
        f"The permutation test, and Wilcoxon's with ties, goes through all sign flips up to {statistics.shuffles}; "
        "beyond that it draws as many at random.",
        "With n pairs no such p is below 2/2^n, whatever the data.",
        "Holm is the p to its left, corrected over all comparisons of one test in a block (Holm 1979).",
        f"The level is {statistics.alpha:g}. Intervals are BCa bootstrap intervals with confidence "
        f"{statistics.confidence:g} (Efron 1987); of few runs they are too narrow.",
        "Ranks are compared by Friedman's test with Iman and Davenport's correction, and by Nemenyi's critical "
        "difference (Demsar 2006).",
    ]
    if config.image_folds > 1:
        sentences += [
            "Fold-seed pairs are not independent: folds share training images. The p-values of Wilcoxon's test are "
            "then too small.",
            "Corr. t is the corrected resampled t-test (Nadeau and Bengio 2003), which allows for shared training "
            "images; it counts seeds as divisions of their own.",
        ]
    return sentences


def _synthetic(config: Config) -> list[str]:
    synthetic = config.synthetic
    share = synthetic.scenarios[synthetic.headline].validation_fraction
    options = synthetic.augmentation
    copied = "minority training samples" if options.classes == "minority" else "training samples"
    return [
        "Each seed draws its own data and its own initial weights.",
        f"Of the training split {share:.0%} is held out to validate, for every method alike. The paper mentions no "
        "such split.",
        f"Augmented: {options.copies} copies per nominal number of {copied}, with Gaussian noise of "
        f"{options.noise:g} standard deviations of each feature. Class priors count originals.",
        "The paper does not say how it augments these data.",
    ]


def _images(config: Config) -> list[str]:
    images, training = config.images, config.images.training
    shared = "folds and difficulty scores" if images.difficulty_source == "frozen" else "folds"
    if config.image_folds == 1:
        sentences = ["All seeds share one division of the images: tests show chance in training alone."]
    else:
        sentences = [f"Seeds share {shared}. Images of one patient stay in one role of a fold."]
    if training.augmented_copies:
        counted = "all rows, copies included"
        if training.class_priors != "rows":
            counted = "originals only, so that class weights act on top of the copies"
        sentences.append(
            f"Each training image of the minority class has {training.augmented_copies} augmented copies, for every "
            f"method. Class priors count {counted}."
        )
    if config.external_dataset is not None and images.transfer:
        sentences.append(
            "Every model predicts the same external images: tests show chance in training, not in the choice of these "
            "images."
        )
    return sentences


def _search(config: Config) -> list[str]:
    if not searches(config):
        return []
    tuning = config.images.tuning
    folds = "fold 0" if config.trial_folds == 1 else f"folds 0 to {config.trial_folds - 1}"
    sentences = [
        f"Tuned: the candidate with the highest mean AUC on validation images of {folds}, seed "
        f"{', '.join(map(str, tuning.seeds))}, after {tuning.epochs} epoch{'s' if tuning.epochs > 1 else ''}."
    ]
    if config.image_folds > 1:
        sentences.append(
            "Images that validate in one fold test in another: the choice is not blind to them. The paper's is the "
            "same."
        )
    return sentences


def _paper() -> list[str]:
    return [
        "Columns headed Paper are copied from the paper, from the lines that reported.csv gives.",
        "The paper does not define its dynamic regret. In its tables of synthetic data that column equals 1 minus "
        "balanced accuracy, so it stands next to our balanced error.",
        "In its table of images the regrets of ERM and static weighting are static, and those of the others dynamic. "
        "Ours are all dynamic.",
    ]
