"""The command line, run as users run it: exit status, messages, log and record."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import fossil

COMMAND = '''
"""A command that speaks in every way that a command can."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fossil.config.strict import Strict
from fossil.runtime.files import write_text
from fossil.runtime.logs import logger, progress, say


class Settings(Strict):
    """What to do."""

    fail: bool = False
    facts: dict[str, str] | None = None


def run(settings: Settings, *, many_inputs: list[Path], output: Path) -> dict[str, str] | None:
    """Speak, then write or fail."""
    print("printed line")
    print("error line", file=sys.stderr)
    logger.info("logged line")
    subprocess.run([sys.executable, "-S", "-c", "print('line of a child')"], check=True)
    say("line for the terminal")
    if settings.fail:
        raise RuntimeError("the command broke")
    write_text(output, " ".join(path.name for path in progress(many_inputs, description="speak", total=1)))
    return settings.facts
'''


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more command, which is quick and imports little."""
    root = tmp_path_factory.mktemp("package")
    source = Path(fossil.__file__).parent
    shutil.copytree(source, root / "fossil", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "fossil" / "commands" / "speak.py").write_text(COMMAND)
    return root


@pytest.fixture
def run(package: Path, tmp_path: Path) -> Any:
    """Run the command line in an empty folder."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-m", "fossil", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "200"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return call


def speak(run: Any, settings: str = "{}", *more: str) -> subprocess.CompletedProcess[str]:
    files = ("--log", "logs/speak.log", "--record", "run.json", "--output", "out.txt")
    return run("speak", "--settings", settings, *files, *more)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("train_staked --settings {}", "train_staked"),
        ("train_staked --settings {}", "train_stacked"),
        ("", "COMMAND"),
        ("speak --output out.txt", "required: --settings"),
        ("speak --settings {}", "required: --output"),
        ("speak --settings {} --output out.txt --outputs-too x", "--outputs-too"),
    ],
)
def test_an_unknown_or_missing_stage_or_option_is_an_error_that_names_it(given: str, named: str, run: Any) -> None:
    done = run(*given.split())
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ('{"fails": true}', "fails"),
        ('{"fail": "yes"}', "fail"),
        ('{"fail": ', "JSON"),
        ('{"fails": true, "fail": "yes"}', "fails"),
    ],
)
def test_wrong_settings_are_an_error_of_one_line_that_names_the_key(
    settings: str, named: str, run: Any, tmp_path: Path
) -> None:
    done = speak(run, settings)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("speak: ")
    assert named in line
    assert line.endswith("(log: logs/speak.log)")
    assert not (tmp_path / "run.json").exists()
    assert not (tmp_path / "out.txt").exists()


def test_log_holds_both_streams_the_logger_and_what_children_print(run: Any, tmp_path: Path) -> None:
    done = speak(run)
    assert done.returncode == 0
    log = (tmp_path / "logs" / "speak.log").read_text()
    for line in ("printed line", "error line", "INFO logged line", "line of a child"):
        assert log.count(line) == 1
    assert done.stdout == ""
    assert done.stderr == "line for the terminal\n"


def test_failure_puts_the_traceback_into_the_log_and_one_line_on_the_terminal_and_leaves_neither_record_nor_output(
    run: Any, tmp_path: Path
) -> None:
    done = speak(run, '{"fail": true}')
    assert done.returncode == 1
    log = (tmp_path / "logs" / "speak.log").read_text()
    for line in ("printed line", "error line", "Traceback (most recent call last)", "RuntimeError: the command broke"):
        assert log.count(line) == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "line for the terminal",
        "speak: RuntimeError: the command broke (log: logs/speak.log)",
    ]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["logs", "speak.failures.jsonl", "speak.log"]


def test_without_a_log_everything_goes_to_the_terminal(run: Any) -> None:
    done = run("speak", "--settings", '{"fail": true}', "--output", "out.txt")
    assert done.returncode == 1
    assert sorted(done.stdout.splitlines()) == ["line of a child", "printed line"]
    for line in ("error line", "logged line", "Traceback", "speak: RuntimeError: the command broke"):
        assert line in done.stderr


def test_record_says_what_the_run_was(run: Any, tmp_path: Path) -> None:
    settings = {"facts": {"failed_seeds": "none"}}
    assert speak(run, json.dumps(settings), "--code", "0123abcd").returncode == 0
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["command"] == "speak"
    assert record["status"] == "ok"
    assert record["settings"] == settings
    assert record["code"] == "0123abcd"
    assert record["device"] == "cpu"
    assert record["failed_seeds"] == "none"
    assert record["python"] == platform.python_version()
    assert 0 < record["seconds"] < 60
    for name in ("torch", "numpy", "scikit-learn"):
        assert record["versions"][name] == version(name)


def test_facts_of_the_stage_go_before_what_the_record_assumes(run: Any, tmp_path: Path) -> None:
    facts = {"device": "NVIDIA H100", "status": "failed"}
    assert speak(run, json.dumps({"facts": facts})).returncode == 0
    record = json.loads((tmp_path / "run.json").read_text())
    assert {key: record[key] for key in facts} == facts


def test_list_of_inputs_may_hold_none_or_several(run: Any, tmp_path: Path) -> None:
    assert speak(run, "{}", "--many-inputs").returncode == 0
    assert (tmp_path / "out.txt").read_text() == ""
    assert speak(run, "{}", "--many-inputs", "a/one", "two").returncode == 0
    assert (tmp_path / "out.txt").read_text() == "one two"


def test_help_names_every_stage(run: Any) -> None:
    done = run("--help")
    assert done.returncode == 0
    commands = [path.stem for path in (Path(fossil.__file__).parent / "commands").glob("[a-z]*.py")]
    assert len(commands) > 10
    assert all(command in done.stdout for command in commands)


def test_help_of_a_stage_names_its_options(run: Any) -> None:
    done = run("speak", "--help")
    assert done.returncode == 0
    for option in ("--settings", "--record", "--log", "--code", "--many-inputs", "--output"):
        assert option in done.stdout
