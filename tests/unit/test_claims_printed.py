"""What the paper's own tables say of every claim, read from them by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from fossil.evaluation.claims.ledger import Claim, read_claims
from fossil.evaluation.claims.verdicts import CANNOT_TELL, CONSISTENT, CONTRADICTED, printed_worst
from fossil.evaluation.reported import Paper, read_reported

WORKFLOW = Path(__file__).parents[2] / "workflow"
CLAIMS = {claim.id: claim for claim in read_claims(WORKFLOW / "claims.yaml")}

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
    return Paper(read_reported(WORKFLOW / "reported.csv"))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_papers_own_tables_say_of_a_claim_what_a_reader_finds_there(claim: Claim, paper: Paper) -> None:
    verdict, numbers = SAID[claim.id]
    assert printed_worst([part.on_paper(paper) for part in claim.parts]).verdict == verdict, numbers
