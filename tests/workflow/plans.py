"""What Snakemake compares with what it has recorded, of every job, for many configurations in one process.

A dry run says the same of one configuration and takes seconds. A job is run again where its parameters or the set of
its files differ from what was recorded, and after every job that makes one of its files, unless the file is ancient. In
the place of the digest of its code a job has the names of the modules that the digest is of.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.workflow.study import REPOSITORY, TARGETS, job_name

Plan = dict[str, "Job"]
"""Jobs by their first file."""


@dataclass(frozen=True)
class Job:
    """A job: its rule, with a figure's or a table's name, its files, its parameters and its command."""

    name: str
    outputs: frozenset[str]
    inputs: frozenset[str]
    ancient: frozenset[str]
    params: frozenset[str]
    command: str
    modules: frozenset[str]


def make_plans(root: Path, configs: Mapping[str, Any], *, targets: Sequence[str] = ("all",)) -> dict[str, Plan]:
    """Plan targets in a folder that holds the workflow and none of its results, for every configuration."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "workflow"), str(REPOSITORY)])}
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflow.plans", *targets],
        cwd=root,
        env=environment,
        input=json.dumps(configs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    plans: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return {name: {job["outputs"][0]: _read(job) for job in jobs} for name, jobs in plans.items()}


def rerun(before: Plan, after: Plan) -> list[Job]:
    """Find the jobs of a plan that a finished study of another plan would run."""
    running = {key for key, job in after.items() if _recorded(before.get(key)) != _recorded(job)}
    made = {file: key for key, job in after.items() for file in job.outputs}
    needs = {key: {made[file] for file in job.inputs - job.ancient if file in made} for key, job in after.items()}
    while new := {key for key, needed in needs.items() if key not in running and needed & running}:
        running |= new
    return [after[key] for key in running]


def _recorded(job: Job | None) -> object:
    return job and (job.inputs, job.params, job.modules)


def _read(job: dict[str, Any]) -> Job:
    return Job(**{key: value if isinstance(value, str) else frozenset(value) for key, value in job.items()})


def _plan(config: dict[str, Any], targets: set[str]) -> Iterator[dict[str, Any]]:
    from snakemake.api import SnakemakeApi
    from snakemake.settings import types

    with SnakemakeApi(types.OutputSettings(quiet={types.Quietness.ALL})) as api:
        asked = api.workflow(
            resource_settings=types.ResourceSettings(cores=1),
            config_settings=types.ConfigSettings(config=config),
            snakefile=Path("Snakefile"),
        )
        workflow = asked.dag(types.DAGSettings(targets=targets)).workflow_api._workflow
        workflow._prepare_dag(forceall=False, ignore_incomplete=False, lock_warn_only=False, nolock=True)
        workflow._build_dag()
        for job in workflow.dag.jobs:
            if job.rule.name not in TARGETS:
                yield _described(job)


def _described(job: Any) -> dict[str, Any]:
    shown = [job.wildcards.get(name) for name in ("figure", "table")]
    shown = ["dataset" if name and name.startswith("dataset-") else name for name in shown]
    code = job.params.get("code", "")
    return {
        "name": job_name(job.rule.name, *filter(None, shown)),
        "outputs": list(map(str, job.output)),
        "inputs": list(map(str, job.input)),
        "ancient": [str(file) for file in job.input if file.is_ancient],
        "params": [repr(value) for value in job.non_derived_params if value != code],
        "command": job.shellcmd,
        "modules": code.split(),
    }


def _name_modules() -> None:
    """Let a digest name the modules that it is of."""
    from fossil.runtime import digest

    digest.code_digest = lambda *modules: " ".join(sorted(digest.imported_modules(*modules)))


def _read_once() -> None:
    """Let Snakemake translate every file of rules once, which takes half of the time of a plan."""
    import snakemake.api

    workflow = snakemake.workflow
    translate, known = workflow.parse, {}

    def parse(file: Any, *arguments: Any, linemap: dict[int, int], **more: Any) -> Any:
        if (path := str(file.get_path_or_uri(secret_free=True))) not in known:
            known[path] = translate(file, *arguments, linemap=linemap, **more)
        return known[path]

    workflow.parse = parse


def _main() -> None:
    configs = json.load(sys.stdin)
    _name_modules()
    _read_once()
    plans = {name: list(_plan(config, set(sys.argv[1:]))) for name, config in configs.items()}
    sys.stdout.write(json.dumps(plans))


if __name__ == "__main__":
    _main()
