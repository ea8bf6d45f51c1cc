"""Which jobs count which modules of the package, and which of them an edit of a module runs again."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fossil.__main__ import command_parser
from tests.workflow.plans import Job, make_plans
from tests.workflow.study import TINY, Study

# Every kind of job that there is without downloads, and every method.
WIDE = {
    **TINY,
    "synthetic": {**TINY["synthetic"], "methods": ["erm", "static", "static_inverted", "effective_number", "focal"]},
    "images": {
        **TINY["images"],
        "methods": ["erm", "focal", "meta_weight_net", "curriculum", "fossil", "fossil_bilevel"],
        "variants": ["baseline", "tuned"],
        "transfer": True,
        "refit": True,
    },
}
WIDE["synthetic"]["methods"] += ["meta_weight_net", "curriculum", "fossil", "fossil_bilevel"]
WIDE["images"]["tuning"] = {"grids": {"focal": {"gamma": [1.0, 3.0]}}, "folds": 1, "epochs": 1}
# Data sets of photographs, whose readers are others.
OWN = {**WIDE, "datasets": {"custom": {"table": "own.csv"}, "msld_v2": {"download": True}}}

# What is derived from the configuration for the settings of jobs, and what plans them.
SETTINGS = r"pipeline(\..+)?|design\.(checks|plan|job_groups|synthetic_studies)"
SETTINGS += r"|reporting\.(study_facts|experiment|registry|protocol|tables\.(?!_(?!entries$))\w+)"
# What starts a command or a run and keeps its record, and commands that no job of the study runs.
AROUND = r"__main__|runtime\.(digest|drivers|failures|provenance|slurm|startup)"
AROUND += r"|commands\.(describe_config|write_readme)|reporting\.config_reference"
# An edit of these shall not fetch gigabytes again, and what is fetched has a hash.
DOWNLOADS = r"commands\.(download_\w+|fetch_weights)|training\.weights|data\.downloads(\..+)?"
# What publishes and restores is beside the study.
VERSIONS = r"versions|commands\.(extract_headline|publish_results|restore_results)"
# The choice of options goes by its rule alone; a user's own program alone calls the last.
OTHERS = r"library(\..+)?"
NOT_COUNTED = re.compile(rf"fossil\.({SETTINGS}|{AROUND}|{DOWNLOADS}|{VERSIONS}|{OTHERS})")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study.create(tmp_path_factory.mktemp("study"), config=WIDE)
    (study.root / "own.csv").write_text("image,label\na.png,1\n")
    return study


@pytest.fixture(scope="module")
def jobs(study: Study) -> list[Job]:
    plans = make_plans(study.root, {"wide": WIDE, "own": OWN}, targets=["all", "paper"])
    return [job for plan in plans.values() for job in plan.values()]


@pytest.fixture(scope="module")
def imports(study: Study) -> dict[str, set[str]]:
    """The modules of the package that each one imports when it is imported or run, by reading its source."""
    package = study.root / "workflow/fossil"
    paths = {_name(path, package): path for path in package.rglob("*.py")}
    return {name: set(_imported(path, paths)) for name, path in paths.items()}


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, paths: dict[str, Path]) -> Iterator[str]:
    for name in _named(path, paths):
        yield name
        # A package that is imported as such, as a registry is, may import every module in it by name.
        if paths[name].name == "__init__.py":
            yield from (inner for inner in paths if inner.startswith(f"{name}."))


def _named(path: Path, paths: dict[str, Path]) -> Iterator[str]:
    for node in _run_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in paths)
        elif isinstance(node, ast.ImportFrom) and node.module in paths:
            assert node.level == 0, path
            submodules = [f"{node.module}.{one.name}" for one in node.names]
            found = [name for name in submodules if name in paths]
            yield from found
            if len(found) < len(submodules):
                yield node.module


def _run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All parts of a source but what is for type checkers alone."""
    yield node
    skipped = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else []
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _run_nodes(child)


def _closure(named: set[str], imports: dict[str, set[str]]) -> set[str]:
    """Find what is imported with these modules.

    A package that holds one of them counts, but not what it offers to others beside that.
    """
    found: set[str] = set()
    while named:
        found |= named
        named = set().union(*(imports[name] for name in named)) - found
    holding = {name.rsplit(".", depth)[0] for name in found for depth in range(1, name.count(".") + 1)}
    return found | holding


def _loaded(job: Job) -> set[str]:
    """The command of a job's command, and what the command imports by a name in its settings."""
    rule = job.name.split()[0]
    command = re.match(r"python -m fossil (\w+) ", job.command).group(1)
    named = {f"fossil.commands.{command}", *re.findall(r'"target": "(fossil\.[\w.]+):', job.command)}
    if rule == "draw_figure":
        named.add(re.search(r'"module": "([\w.]+)"', job.command).group(1))
    if rule == "make_manifest":
        named.add("fossil.data." + re.search(r'"reader": "(\w+)"', job.command).group(1))
    return named


def test_the_code_of_a_job_is_every_module_that_its_process_imports_and_no_other(
    jobs: list[Job], imports: dict[str, set[str]]
) -> None:
    counting = [job for job in jobs if job.name != "download_msld_v2"]
    for job in counting:
        assert job.modules == _closure(_loaded(job), imports), job.name
    assert {"train_stacked", "train_fold", "make_manifest", "draw_figure theory"} <= {job.name for job in counting}


def test_the_choice_of_options_does_not_depend_on_the_code_of_other_metrics(jobs: list[Job]) -> None:
    counted = {name for job in jobs if job.name == "select_options" for name in job.modules}
    assert "fossil.binary_metrics" in counted
    assert "fossil.evaluation.metrics" not in counted


def test_an_edit_of_any_module_runs_a_job_again_unless_it_acts_through_settings(
    jobs: list[Job], imports: dict[str, set[str]]
) -> None:
    counted = set().union(*(job.modules for job in jobs))
    uncounted = set(imports) - counted
    expected = {name for name in imports if NOT_COUNTED.fullmatch(name)}
    assert (sorted(uncounted - expected), sorted(expected - uncounted)) == ([], [])


def test_the_command_of_every_job_has_the_options_that_its_stage_needs_and_no_others(jobs: list[Job]) -> None:
    for command in {job.name: job.command for job in jobs}.values():
        name, *options = shlex.split(command)[3:]
        command_parser(name, importlib.import_module(f"fossil.commands.{name}")).parse_args(options)
