"""The workflow on a real Slurm of one node with two GPUs in name: submission, its switches, and faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pandas as pd
import pytest

from fossil.runtime.slurm import cancel_jobs_of
from tests.cluster.driver import (
    READY,
    RUN,
    RUNS,
    command,
    config,
    driven,
    finish,
    hold_training,
    submit,
    switched,
    without_run,
)
from tests.cluster.one_node import NODE, jobs, one_node, queue, run, wait_until
from tests.workflow.study import Study

# Every rule of the image study that a job is submitted for; the others are short and run where Snakemake runs.
SUBMITTED = {"draw_phantom", "make_manifest", "decode_images", "train_fold", "score_difficulty"}


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with one_node(tmp_path_factory.mktemp("slurm")):
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """An image study that Slurm made, from drawing the images to the last figure."""
    made = Study.create(tmp_path_factory.mktemp("study"), config())
    submit(made, "images")
    return made


@pytest.fixture(scope="module")
def submitted(study: Study) -> dict[str, list[dict[str, str]]]:
    """What Slurm knows of the jobs of that study, by rule."""
    found: dict[str, list[dict[str, str]]] = {}
    for job in jobs():
        if job["WorkDir"] == str(study.root):
            found.setdefault(job["Comment"].removeprefix("rule_").partition("_wildcards")[0], []).append(job)
    return found


@pytest.fixture(scope="module")
def long_study(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same data, and a training that takes long enough to disturb it; once undisturbed, on this machine."""
    root = tmp_path_factory.mktemp("long")
    made = Study.create(root, config(epochs=8))
    for name in ("data", ".snakemake/metadata"):
        subprocess.run(["cp", "--archive", "--parents", name, root], cwd=study.root, check=True)
    made.make(f"{RUN}/run.json")
    (root / RUN).rename(root / "undisturbed")
    return made


def is_undisturbed(study: Study) -> bool:
    """Tell whether the run ended with the bits of the one that nothing disturbed, and left no checkpoint."""
    names = ("predictions.parquet", "model.safetensors")
    same = all(
        (study.root / RUN / name).read_bytes() == (study.root / "undisturbed" / name).read_bytes() for name in names
    )
    return same and not (study.root / RUN / "checkpoint.pt").exists()


def failures(study: Study) -> list[dict[str, object]]:
    """What is noted of failures of the run, oldest first."""
    (path,) = (study.root / "results/logs/train_fold").glob("phantom-erm-baseline-fold0-seed1.failures.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_study_is_made_end_to_end_and_then_nothing_is_left_to_do(study: Study) -> None:
    for name in ("dataset-phantom", "difficulty-phantom", "final-tuning", "operating-point"):
        assert (study.root / f"results/tables/{name}.tex").stat().st_size > 500
    assert set(pd.read_parquet(study.root / "results/metrics/phantom-internal.parquet")["status"]) == {"ok"}
    assert study.planned("images") == Counter()


def test_short_stages_run_where_snakemake_runs_and_all_else_is_submitted(
    submitted: dict[str, list[dict[str, str]]],
) -> None:
    assert set(submitted) == SUBMITTED
    assert len(submitted["train_fold"]) == 6
    assert {job["JobState"] for found in submitted.values() for job in found} == {"COMPLETED"}


def test_each_job_asks_for_what_its_rule_says(submitted: dict[str, list[dict[str, str]]]) -> None:
    for rule, gpus, memory, minutes in (
        ("train_fold", "gres:gpu:1", "4000M", "02:00:00"),
        ("score_difficulty", "gres:gpu:1", "4000M", "00:30:00"),
        ("decode_images", None, "2000M", "01:00:00"),
        ("make_manifest", None, "2000M", "01:00:00"),
    ):
        for job in submitted[rule]:
            assert job.get("TresPerJob", "").strip() == (gpus or "")
            assert (job["MinMemoryNode"], job["TimeLimit"]) == (memory, minutes)
            assert (job["Partition"], job["Account"], job["Requeue"]) == ("main", "(null)", "1")
    assert submitted["decode_images"][0]["NumCPUs"] == "8"


def test_no_two_trainings_have_one_gpu(submitted: dict[str, list[dict[str, str]]]) -> None:
    # Four trainings wait for nothing but a GPU, of which there are two.
    spans = [
        (datetime.fromisoformat(job["StartTime"]), datetime.fromisoformat(job["EndTime"]))
        for rule in ("train_fold", "score_difficulty")
        for job in submitted[rule]
    ]
    at_once = [sum(start <= moment < end for start, end in spans) for moment, _ in spans]
    assert max(at_once) == 2


def test_arrays_need_room_for_all_jobs_since_the_executor_would_forget_some(study: Study) -> None:
    profile = switched(study, "arrays", "slurm-array-jobs")
    wanted = [f"{name}/run.json" for name in RUNS]
    with driven(study, *wanted, "--forcerun", "train_fold", "--jobs", "3", profile=profile) as driver:
        said = finish(study, driver, status=1)
    assert "Arrays need jobs (--jobs) to be at least" in said
    assert study.planned(*wanted) == Counter()


def test_arrays_by_the_profiles_switch_submit_the_trainings_that_are_ready_in_chunks_and_a_lost_one_again(
    study: Study,
) -> None:
    profile = switched(study, "arrays", "slurm-array-jobs")

    def lose_one() -> None:
        # Slurm forgets a task that is cancelled before it runs, and Snakemake waits for it for ever.
        run("scancel", wait_until(lambda: second_task(study), what="two of four trainings run"))

    submitted = made_anew(study, profile, READY, "--slurm-array-limit", "3", meanwhile=lose_one)
    tasks = [job for job in submitted if "ArrayJobId" in job]
    assert sorted(Counter(job["ArrayJobId"] for job in tasks).values()) == [1, 3]
    assert {job["ArrayTaskId"]: job["JobState"] for job in tasks} == {
        **{"1": "COMPLETED", "2": "CANCELLED"},
        **{"3": "COMPLETED", "4": "COMPLETED"},
    }
    (again,) = [job for job in submitted if job not in tasks]
    assert (again["JobState"], again["TimeLimit"]) == ("COMPLETED", "04:00:00")
    assert all(job["Comment"].startswith("rule_train_fold_wildcards_phantom_") for job in submitted)
    assert {job["TresPerJob"].strip() for job in submitted} == {"gres:gpu:1"}


def second_task(study: Study) -> str | None:
    return next((task for task in queue("RUNNING", study.root) if task.endswith("_2")), None)


def test_groups_by_the_profiles_switch_train_one_after_another_on_one_gpu(study: Study) -> None:
    profile = switched(study, "groups", "groups", "group-components")
    submitted = made_anew(study, profile, RUNS)
    grouped = [job for job in submitted if job["Comment"].startswith("group") or "baseline" in job["Comment"]]
    assert len(grouped) == 2
    for job in grouped:
        assert job["TresPerJob"].strip() == "gres:gpu:1"
        assert job["TimeLimit"] == "04:00:00"
        assert job["NumCPUs"] == "1"  # on which Snakemake runs one job at a time


def test_the_form_of_sites_that_know_gres_alone(study: Study) -> None:
    profile = switched(study, "gres", "set-resources")
    asked = [job for job in made_anew(study, profile, [RUN]) if job["Partition"] == "gpu"]
    assert len(asked) == 1
    assert "gres:gpu:1" in asked[0]["TresPerNode"]
    assert "TresPerJob" not in asked[0]


def made_anew(
    study: Study, profile: str, runs: list[str], *options: str, meanwhile: Callable[[], object] = lambda: None
) -> list[dict[str, str]]:
    """Train again with another profile, to the same bits; gives the jobs that it took."""
    before = {name: (study.root / name / "predictions.parquet").read_bytes() for name in runs}
    known = {job["JobId"] for job in jobs()}
    for name in runs:
        for path in (study.root / name).iterdir():
            path.unlink()
    with driven(study, *(f"{name}/run.json" for name in runs), *options, profile=profile) as driver:
        meanwhile()
        finish(study, driver)
    assert before == {name: (study.root / name / "predictions.parquet").read_bytes() for name in runs}
    return [job for job in jobs() if job["JobId"] not in known]


def test_a_cancelled_training_is_submitted_again_and_goes_on(long_study: Study) -> None:
    study = without_run(long_study)
    with driven(study, f"{RUN}/run.json") as driver:
        run("scancel", hold_training(study))
        finish(study, driver)
    assert is_undisturbed(study)
    assert [failure["final"] for failure in failures(study)] == [False]
    assert "stopped by SIGTERM" in str(failures(study)[0]["message"])
    assert "training resumes after" in log_of(study)


def test_a_training_that_meets_its_time_limit_gets_more_time_and_goes_on(long_study: Study) -> None:
    study = without_run(long_study)
    known = {job["JobId"] for job in jobs()}
    with driven(study, f"{RUN}/run.json") as driver:
        first = hold_training(study)
        # The limit is moved to where the training is: a short one could be met before the first epoch has ended.
        run("scontrol", "update", f"JobId={first}", "EndTime=now")
        finish(study, driver)
    assert "stopped by SIGTERM" in str(failures(study)[0]["message"])
    ended = [job for job in jobs() if job["JobId"] not in known]
    assert [job["JobState"] for job in ended] == ["TIMEOUT", "COMPLETED"]
    assert ended[1]["TimeLimit"] == "04:00:00"  # twice what the rule asks for at first
    assert is_undisturbed(study)


def test_a_training_whose_node_fails_goes_on_when_the_node_is_back(long_study: Study) -> None:
    study = without_run(long_study)
    with driven(study, f"{RUN}/run.json") as driver:
        job = hold_training(study)
        run("scontrol", "update", f"NodeName={NODE}", "State=down", "Reason=test")
        # The node's daemon is alive, so that it comes back by itself.
        wait_until(lambda: queue("PENDING", study.root) == [job], what="Slurm put the job back into the queue")
        finish(study, driver)
    (known,) = [found for found in jobs() if found["JobId"] == job]
    assert (known["JobState"], known["Restarts"]) == ("COMPLETED", "1")
    assert is_undisturbed(study)


def test_a_preempted_training_goes_on_when_the_other_job_has_ended(long_study: Study) -> None:
    study = without_run(long_study)
    with driven(study, f"{RUN}/run.json") as driver:
        job = hold_training(study)
        asked = ("--partition=urgent", "--mem=10", "--gpus=2", f"--chdir={study.root}", "--wrap=sleep 5")
        urgent = run("sbatch", "--parsable", *asked).strip()
        wait_until(lambda: urgent not in queue("PENDING", study.root), what="the urgent job has the GPU")
        # It ends in the time of grace, so that Snakemake submits it again and not Slurm.
        assert "stopped by SIGTERM" in str(failures(study)[0]["message"])
        finish(study, driver)
    assert {found["JobId"]: found["JobState"] for found in jobs()}[urgent] == "COMPLETED"
    assert job not in queue("RUNNING,PENDING", study.root)
    assert is_undisturbed(study)


def test_jobs_wait_while_the_node_is_drained(study: Study) -> None:
    (study.root / RUN / "run.json").unlink()
    run("scontrol", "update", f"NodeName={NODE}", "State=drain", "Reason=test")
    with driven(study, f"{RUN}/run.json") as driver:
        try:
            wait_until(lambda: "DRAINED" in " ".join(queue("PENDING", study.root, "%r")), what="no node for the job")
            assert driver.poll() is None
        finally:
            run("scontrol", "update", f"NodeName={NODE}", "State=resume")
        finish(study, driver)
    assert (study.root / RUN / "run.json").exists()


def test_after_snakemake_was_killed_its_jobs_are_cancelled_and_the_same_command_goes_on(long_study: Study) -> None:
    study = without_run(long_study)
    with driven(study, f"{RUN}/run.json") as driver:
        left = hold_training(study)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert queue("RUNNING", study.root) == [left]
    subprocess.run([*command(study), "--unlock"], cwd=study.root, check=True, capture_output=True)
    said = submit(study, f"{RUN}/run.json")
    assert f"Cancelling 1 jobs that an earlier run left in the queue: {left}" in said
    assert {job["JobId"]: job["JobState"] for job in jobs()}[left] == "CANCELLED"
    assert is_undisturbed(study)


def test_only_what_snakemake_submitted_from_the_folder_is_cancelled(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    submitted = {}
    for folder, name in ((here, uuid4()), (here, f"prefix_{uuid4()}"), (here, "mine"), (elsewhere, uuid4())):
        folder.mkdir(exist_ok=True)
        job = run("sbatch", "--parsable", "--mem=10", f"--chdir={folder}", f"--job-name={name}", "--wrap=sleep 600")
        submitted[folder.name, str(name)] = job.strip()
    first, second, mine, others = submitted.values()
    said: list[str] = []
    assert cancel_jobs_of(here, say=said.append) == sorted([first, second])
    assert len(said) == 1
    assert queue("RUNNING,PENDING", here) == [mine]
    assert queue("RUNNING,PENDING", elsewhere) == [others]
    assert cancel_jobs_of(here, say=said.append) == []
    assert len(said) == 1
    run("scancel", mine, others)


def test_a_failed_stage_ends_at_once_when_it_is_submitted_again_and_others_go_on(study: Study, tmp_path: Path) -> None:
    subprocess.run(["cp", "--archive", f"{study.root}/.", tmp_path], check=True)
    broken = Study(tmp_path, study.config)
    difficulty = tmp_path / "results/phantom/difficulty"
    for path in [difficulty / "fold1.parquet", *(path for name in RUNS[1:] for path in (tmp_path / name).iterdir())]:
        path.unlink()
    (difficulty / "fold0.parquet").write_bytes(b"no scores")
    (difficulty / "fold0.json").touch()  # as if they had just been made
    known = {job["JobId"] for job in jobs()}
    # The training of fold 1 waits for another one and for its scores; meanwhile that of fold 0 has failed.
    wanted = [f"{name}/run.json" for name in RUNS[2:]]
    with driven(broken, *wanted, "--rerun-triggers", "params", "--retries", "1") as driver:
        said = finish(broken, driver, status=1)
    assert [name for name in RUNS if not (tmp_path / name / "run.json").exists()] == [RUNS[2]]
    assert "ArrowInvalid" in said
    assert "not tried again, since it would fail again" in said
    tried = [job for job in jobs() if job["JobId"] not in known and "fossil_baseline_0_1" in job["Comment"]]
    assert [job["JobState"] for job in tried] == ["FAILED", "FAILED"]


def log_of(study: Study) -> str:
    return (study.root / "results/logs/train_fold/phantom-erm-baseline-fold0-seed1.log").read_text()
