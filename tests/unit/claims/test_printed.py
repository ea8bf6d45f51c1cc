"""What the paper's own numbers say of every claim, and of each other, read from them by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fossil.claims.ledger import Claim, read_claims
from fossil.claims.reported import Paper, read_reported
from fossil.claims.self_checks import read_checks, run_checks
from fossil.claims.verdicts import CANNOT_TELL, CONSISTENT, CONTRADICTED, EMPTY, INCONSISTENT, reported_worst

WORKFLOW = Path(__file__).parents[3] / "workflow"
CLAIMS = {claim.id: claim for claim in read_claims(WORKFLOW / "paper" / "claims.yaml")}

# By claim: what the tables say, and the numbers that decide it, after the line in which they stand.
# Equal means, as printed, do not tell which row is ahead.
SAID: dict[str, tuple[str, str]] = {
    "gains-on-synthetic-data": (
        CONSISTENT,
        "BA at 4:1 475 .88; 470 .87, 474 .87, 473 .87; at 9:1 483 .83; 478 .81, 482 .81, 481 .80; "
        "at 19:1 491 .73; 486 .71, 490 .71, 489 .71",
    ),
    "gains-on-real-data": (
        CONSISTENT,
        "BA 578 .73; 567 .63, 576 .64, 574 .62; external 624 .568; 619 .531, 623 .528, 622 .542",
    ),
    "highest-balanced-accuracy-9": (CONSISTENT, "422 .83; 417-421 .81, .77, .80, .81, .81"),
    "highest-balanced-accuracy-9-as-paired": (CONSISTENT, "422 .83; 417-421 .81, .77, .80, .81, .81"),
    "highest-g-mean-9": (CONSISTENT, "422 .83; 417-421 .79, .74, .78, .79, .79"),
    "lowest-regret-9-as-printed": (CONSISTENT, "422 .16; 417-421 .19, .22, .20, .19, .19"),
    "lowest-regret-9": (CONSISTENT, "422 .16; 417-421 .19, .22, .20, .19, .19"),
    "auc-gain-significant-9": (
        CONSISTENT,
        "422 .89; 417-421 .88 each; Wilcoxon p .016, .008, .016, .016, .016; permutation .016, .007, .016, .016, .013",
    ),
    "gain-in-every-seed-9": (
        CANNOT_TELL,
        "no seed is printed; with eight pairs 417 p = .016 means one tie or loss, but of which metric is not said",
    ),
    "trends-stable-19": (CONSISTENT, "recall 491 .49, 486 .44; regret 491 .25, 486 .27"),
    "recall-gain-4": (CONSISTENT, "475 .85 - 470 .78 = .07"),
    "recall-gain-19": (CONSISTENT, "491 .49 - 486 .44 = .05"),
    "lowest-regret-4": (CONTRADICTED, "475 .13; focal loss 472 .12"),
    "lowest-regret-19": (CONSISTENT, "491 .25; 486-490 .27, .34, .29, .27, .28"),
    "auc-kept": (CONSISTENT, "475 .93, 470 .93; 483 .88, 478 .87; 491 .80, 486 .79"),
    "best-balanced-accuracy-everywhere": (
        CONSISTENT,
        "475 .88; 470-474 .87, .86, .87, .87, .87; 483 .83; 478-482 .81, .77, .80, .80, .81; "
        "491 .73; 486-490 .71, .65, .71, .71, .71",
    ),
    "best-g-mean-everywhere": (
        CONSISTENT,
        "475 .88; 470-474 .86, .85, .87, .86, .86; 483 .82; 478-482 .79, .74, .77, .78, .79; "
        "491 .69; 486-490 .65, .55, .65, .66, .64",
    ),
    "lowest-regret-everywhere": (CONTRADICTED, "475 .13; focal loss 472 .12"),
    "regret-falls-19": (CONSISTENT, "491 .25 - 486 .27 = -.02"),
    "softmax-most-stable": (CONSISTENT, "deviation of BA 1078 .02; 1079 .04, 1080 .10"),
    "entropy-more-variable": (CONSISTENT, "deviation of BA 1078 .02; 1079 .04"),
    "softmax-strongest": (CONSISTENT, "BA 1078 .84; 1079 .75, 1080 .56"),
    "softmax-strongest-with-copies": (CONSISTENT, "BA 1078 .84; 1079 .75, 1080 .56"),
    "loss-unstable": (CONSISTENT, "deviation of the G-mean 1080 .30; 1078 .02, 1079 .06"),
    "difficulty-not-significant": (CONSISTENT, "Wilcoxon p 1079 .125, 1080 .125"),
    "penalty-lowers-regret-as-printed": (CONSISTENT, "522 .155; 521 .172"),
    "penalty-lowers-regret": (CONSISTENT, "522 .155; 521 .172"),
    "penalty-raises-balanced-accuracy": (CONSISTENT, "BA 522 .835; 521 .824; G-mean 522 .820; 521 .806"),
    "penalty-keeps-auc": (CONSISTENT, "522 .890; 521 .889"),
    "penalty-beats-erm-and-fossil-without-copies": (
        CONSISTENT,
        "518, 520, 519: regret 522 .155; .186, .198, .179; BA .835; .809, .792, .820; G-mean .820; .790, .766, .805",
    ),
    "strongest-on-pad": (
        CONSISTENT,
        "567, 569, 572, 574, 576: BA 578 .73; .63, .72, .64, .62, .64; G-mean .71; .51, .69, .55, .49, .55; "
        "recall .60; .30, .59, .33, .29, .35",
    ),
    "highest-auc-on-pad": (CANNOT_TELL, "578 .82; static weighting 569 .82; 567 .80, 572 .80, 574 .81, 576 .80"),
    "most-stable-on-pad": (
        CONSISTENT,
        "567, 569, 572, 574, 576: deviations of BA 578 .04; .06, .06, .06, .08, .07; AUC .04; .05, .05, .06, .05, .05; "
        "G-mean .05; .15, .08, .11, .19, .11; recall .11; .15, .17, .13, .17, .17",
    ),
    "regret-reduced-on-pad": (CONTRADICTED, "578 .11; focal loss 572 .03; 574 .11, 576 .11"),
    "significant-against-all-on-pad": (CONTRADICTED, "static weighting 569 p = .525"),
    "aurc-superior-on-pad": (CANNOT_TELL, "no AURC is printed; its p 572 < .001, 569 .041 have no direction"),
    "tradeoff-on-pad": (
        CONSISTENT,
        "567, 569, 572, 574, 576: AUC 578 .82; .80, .82, .80, .81, .80; BA .73; .63, .72, .64, .62, .64; "
        "F1 .41; .32, .39, .36, .32, .35",
    ),
    "best-on-external-data": (
        CONSISTENT,
        "619-623: AUC 624 .580; at most 620 .573; BA .568; 620 .556; G-mean .491; 620 .465; F1 .224; 620 .203; "
        "recall .345; 620 .309",
    ),
    "lowest-gap": (CONSISTENT, "624 -.240; 619-623 -.272, -.247, -.251, -.249, -.270"),
    "ranking-stable": (
        CANNOT_TELL,
        "AUC 567 .80, 569 .82, 572 .80, 574 .81, 576 .80, 578 .82; 619-624 .528, .573, .559, .551, .530, .580: ranks "
        "2 5.5 2 4 2 5.5 against 1 5 4 3 2 6 give rho 13 / root(15 * 17.5) = .80; with ranks 3 6 1 4 2 5 it is "
        "1 - 6 * 16 / 210 = .54, with 1 5 3 4 2 6 it is 1 - 6 * 2 / 210 = .94",
    ),
    "higher-auc-and-recall": (
        CONSISTENT,
        "567, 572, 574, 576: AUC 577 .83; .80, .80, .81, .80; BA .72; .63, .64, .62, .64; "
        "recall .56; .30, .33, .29, .35",
    ),
    "significant-at-one-percent": (CONTRADICTED, "p 567 .030, 574 .048; 572 < .001, 576 .008"),
    "stable-across-folds": (CONSISTENT, "deviation of BA 578 .04; 572 .06, 574 .08"),
    "recall-auc-and-regret-together": (CONSISTENT, "483, 478: recall .70, .63; AUC .88, .87; regret .18, .19"),
    "recall-auc-and-regret-together-on-pad": (
        CANNOT_TELL,
        "578, 567: recall .60, .30; AUC .82, .80; regret .11, .11, of two kinds by line 582",
    ),
    "consistent-improvements": (CONTRADICTED, "AUC at 19:1 491 .80; curriculum learning 490 .81"),
    "consistent-improvements-on-pad": (CANNOT_TELL, "AUC 578 .82; static weighting 569 .82"),
    "gap-to-static-narrows": (CONSISTENT, "578 .73 - 569 .72 = .01; 483 .83 - 479 .77 = .06"),
    "proxy-correlates": (
        CONSISTENT,
        "1152 .805, 1157 .830, 1162 .801, 1167 .833; 572 .80, 574 .81, 576 .80, 578 .82: ranks 2 3 1 4 against "
        "1.5 3 1.5 4, rho .8 or 1 as the two equal means are ordered",
    ),
    "prefers-high-clamp": (CONSISTENT, "1167 12, of 6, 8, 12 in line 1133"),
    "prefers-low-temperature": (CONSISTENT, "1167 .005, of .005, .01, .02 in line 1130"),
    "prefers-small-hidden": (CONSISTENT, "1157 64, of 64, 128, 256 in line 1127"),
    "focal-prefers-high-gamma": (CONSISTENT, "1152 3, of 1, 2, 3 in line 1126"),
    "tuning-improves-focal-recall": (CONSISTENT, "572 .33; 571 .27"),
    "tuning-stabilises-meta-weight-net": (
        CONTRADICTED,
        "deviations of BA 574 .08; 573 .07; of the G-mean 574 .19; 573 .18",
    ),
    "stage-wise-matches": (CANNOT_TELL, "line 1176 has .833, which stands in no table; 1167 .833"),
}


def test_every_claim_is_read_by_hand() -> None:
    assert set(SAID) == set(CLAIMS)


@pytest.fixture(scope="module")
def paper() -> Paper:
    return Paper(read_reported(WORKFLOW / "paper" / "reported.csv"))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_papers_own_tables_say_of_a_claim_what_a_reader_finds_there(claim: Claim, paper: Paper) -> None:
    verdict, numbers = SAID[claim.id]
    assert reported_worst([part.on_paper(paper) for part in claim.parts]).verdict == verdict, numbers


# By the numbers that decide them, after their lines: checks of the paper against itself.
FOUND: list[tuple[str, str, list[str]]] = [
    (
        "417-421 of eight pairs a Wilcoxon p is 2/256 = .0078, 4/256 = .0156, ...: .008 and .016 are",
        CONSISTENT,
        [
            *("wilcoxon synthetic-results ERM", "wilcoxon synthetic-results Static weighting"),
            *("wilcoxon synthetic-results Focal loss", "wilcoxon synthetic-results Meta-Weight-Net"),
            "wilcoxon synthetic-results Curriculum learning",
        ],
    ),
    (
        "567, 574, 576 of fifteen pairs it is 494, 785 and 137 of 16384: .0302, .0479, .0084; 572 the least is .00006",
        CONSISTENT,
        [
            *("wilcoxon final-tuning ERM baseline", "wilcoxon final-tuning Focal tuned"),
            *("wilcoxon final-tuning MetaWeight tuned", "wilcoxon final-tuning Curriculum tuned"),
        ],
    ),
    (
        "569 it is 8593 of 16384 = .5245, which is .524 and, rounded twice, .525",
        EMPTY,
        ["wilcoxon final-tuning Static baseline"],
    ),
    (
        "1079, 1080 of four pairs the least is 2/16 = .125, printed",
        EMPTY,
        ["wilcoxon difficulty-defs Entropy", "wilcoxon difficulty-defs Loss"],
    ),
    (
        "417-421 .016, .007, .016, .016, .013 are within three deviations, .0026 or .0037, of .0078 or .0156",
        CONSISTENT,
        [
            *("permutation synthetic-results ERM", "permutation synthetic-results Static weighting"),
            *("permutation synthetic-results Focal loss", "permutation synthetic-results Meta-Weight-Net"),
            "permutation synthetic-results Curriculum learning",
        ],
    ),
    (
        "1079, 1080 .124 is within .01 of .125, the least of four pairs",
        EMPTY,
        ["permutation difficulty-defs Entropy", "permutation difficulty-defs Loss"],
    ),
    (
        "no G-mean is above balanced accuracy: nearest 422 .83 and .83, 475 .88 and .88, 1078 .84 and .84",
        CONSISTENT,
        ["g-mean synthetic-results", "g-mean robustness-difficulty", "g-mean difficulty-defs"],
    ),
    (
        "nor above the root of recall times specificity: nearest 472 .87 and root(.79 * .95) = .866, "
        "489 .66 and root(.44 * .98) = .657, 578 .71 and root(.60 * .86) = .718, 624 .491 and root(.345 * .791) = .522",
        CONSISTENT,
        [
            *("g-mean synthetic-main 4:1", "g-mean synthetic-main 9:1", "g-mean synthetic-main 19:1"),
            *("g-mean final-tuning", "g-mean external-validation"),
        ],
    ),
    (
        "567 recall .30, specificity .96, precision .343 imply .065, with rounding at most .09; "
        "619 .128, .934, .128 imply .070; .1 is stated",
        EMPTY,
        ["prevalence final-tuning", "prevalence external-validation"],
    ),
    (
        "all within .02 of 1 - balanced accuracy: farthest 486 .27 and .29, 489 .27 and .29, 491 .25 and .27",
        INCONSISTENT,
        ["regret-is-balanced-error"],
    ),
    (
        "619 .528 - .80 = -.272; 620 .573 - .82 = -.247; 623 .530 - .80 = -.270; 624 .580 - .82 = -.240, tuned",
        CONSISTENT,
        ["gap ERM", "gap Static", "gap Curriculum", "gap FOSSIL"],
    ),
    (
        "621 .559 - .81 = -.251, untuned, where tuned is .80; 622 .551 - .80 = -.249, untuned, where tuned is .81",
        INCONSISTENT,
        ["gap Focal", "gap MetaWeight"],
    ),
    (
        "to untuned rows FOSSIL -.250, static weighting -.247; to tuned ones -.240, focal loss -.241; .82 is +- .005",
        EMPTY,
        ["gap-order baseline", "gap-order tuned"],
    ),
    ("619-624 deviations of gap and AUC .071, .043, .048, .079, .078, .065 both", INCONSISTENT, ["gap-deviation"]),
    (
        "422, 483, 522 and 624 are the best of every column, of 483 AUC .88 and with others",
        CONSISTENT,
        [
            *("bold synthetic-results", "bold synthetic-main 9:1", "bold robustness-difficulty"),
            "bold external-validation",
        ],
    ),
    (
        "475 regret .13, 472 .12; 491 AUC .80, 490 .81, in a table whose caption does not say what bold is",
        EMPTY,
        ["bold synthetic-main 4:1", "bold synthetic-main 19:1"],
    ),
    ("417 AUC .88, 478 .87; 420 BA .81, 481 .80", INCONSISTENT, ["twice synthetic-results synthetic-main"]),
    (
        "417 .88 .81 .79 .19, 518 .878 .809 .790 .186, without copies; 422 .89 .83 .83 .16, 522 .890 .835 .820 .155",
        INCONSISTENT,
        ["pairing synthetic-results"],
    ),
    ("1243, 1244 150 + 1350 = 1500; 1262 1510", INCONSISTENT, ["external classes"]),
    ("1263 499 + 497 + 514 = 1510; 1262 1510", CONSISTENT, ["external stages"]),
    ("1266 (499 * .258 + 497 * .362 + 514 * .450) / 1510 = .3576; 1264 .358", CONSISTENT, ["external mean difficulty"]),
    ("1258, 1266 .258, .362, .450 of quantiles, which rise whatever the data", EMPTY, ["external stage order"]),
    ("1175 .5 and .75; 1264 .500 is the largest", INCONSISTENT, ["stage thresholds"]),
    ("1130-1133 3 * 3 * 2 * 3 = 54, of which clamps from 6 do nothing to 5", INCONSISTENT, ["search candidates"]),
    ("1130-1133 54; 1126-1128 9, 9, 6", INCONSISTENT, ["search budgets"]),
    ("1118 6 * 3 * 1 = 18; 1113, 1114 20 * 5 * 3 = 300", CONSISTENT, ["search saves time"]),
    ("1135 10; 1118 6", INCONSISTENT, ["search warm-up"]),
    ("459 5 * 3 = 15; 1028 8", INCONSISTENT, ["runs synthetic-main"]),
    ("653, 654 .83, .72, .56; 577 untuned .83, .72, .56; 578 .82, .73, .60", INCONSISTENT, ["discussion row"]),
]


def test_the_papers_numbers_say_of_each_other_what_a_reader_finds_there(paper: Paper) -> None:
    text = pd.read_csv(WORKFLOW / "paper" / "reported-text.csv")
    expected = {name.lower().replace(" ", "-"): (verdict, why) for why, verdict, names in FOUND for name in names}
    findings = list(run_checks(read_checks(WORKFLOW / "paper" / "self_checks.yaml"), paper, text))
    assert sorted(finding.name for finding in findings) == sorted(expected)
    verdicts = {finding.name: (finding.verdict, expected[finding.name][1]) for finding in findings}
    assert verdicts == expected
    assert all(1 <= finding.line <= 1800 for finding in findings)
