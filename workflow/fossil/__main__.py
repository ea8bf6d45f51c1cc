"""Run one command of the pipeline.

python -m fossil COMMAND --settings JSON [--record FILE] [--log FILE] --INPUT PATH ... --OUTPUT PATH ...
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

from pydantic import ValidationError

import fossil.commands
from fossil.config.strict import explain
from fossil.runtime import provenance
from fossil.runtime.failures import final_failure, is_mended_by_another_try, note_failure
from fossil.runtime.files import write_json
from fossil.runtime.interruption import TrainingInterruptedError
from fossil.runtime.logs import logger, logging_to, say
from fossil.runtime.startup import run_process


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the command line names; returns the exit status."""
    names = sorted(module.name for module in pkgutil.iter_modules(fossil.commands.__path__))
    parser = argparse.ArgumentParser(prog="python -m fossil", description=__doc__)
    parser.add_argument("command", choices=names, metavar="COMMAND", help=", ".join(names))
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = parser.parse_args(given[:1]).command
    command = importlib.import_module(f"fossil.commands.{name}")
    options = command_parser(name, command).parse_args(given[1:])
    with logging_to(options.log):
        if options.log and (before := final_failure(options.log)):
            logger.error("%s", before)
            say(f"{name}: not tried again, since it would fail again: {before}")
            return 1
        try:
            _run(name, command, options)
        except TrainingInterruptedError as interruption:
            say(f"{name}: {interruption}")
            _note(options.log, str(interruption), final=False)
            return interruption.exit_status
        except Exception as error:
            traceback.print_exc()
            where = f" (log: {options.log})" if options.log else ""
            reason = "; ".join(explain(error)) if isinstance(error, ValidationError) else error
            message = f"{type(error).__name__}: {reason}"
            say(f"{name}: {message}{where}")
            _note(options.log, message, final=not is_mended_by_another_try(error))
            return 1
    return 0


def _note(log: Path | None, message: str, *, final: bool) -> None:
    if log is not None:
        note_failure(log, message, final=final)


def _run(name: str, command: ModuleType, options: argparse.Namespace) -> None:
    values = json.loads(options.settings)
    settings = command.Settings.model_validate(values)
    paths = {key: getattr(options, key) for key in _arguments(command)}
    if options.record:
        options.record.unlink(missing_ok=True)
    start = time.perf_counter()
    facts = command.run(settings, **paths) or {}
    seconds = time.perf_counter() - start
    if options.record:
        write_json(
            options.record,
            provenance.record(command=name, settings=values, code=options.code, seconds=seconds, facts=facts),
        )


def command_parser(name: str, command: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of a command: options that all have, and the keyword-only parameters of its ``run``."""
    parser = argparse.ArgumentParser(prog=f"python -m fossil {name}", description=command.__doc__)
    parser.add_argument("--settings", required=True, help="the command's settings as JSON")
    parser.add_argument("--code", default="", help="digest of the command's code, for the record")
    parser.add_argument("--record", type=Path, help="where to write what the run was, as JSON")
    parser.add_argument("--log", type=Path, help="file for everything that the command prints")
    parser.add_argument("--threads", type=int, default=1, help="how many threads the command may use")
    for key, hint in _arguments(command).items():
        if key in ("code", "threads"):
            continue
        if get_args(hint):
            parser.add_argument(_option(key), type=Path, nargs="*", default=[])
        else:
            parser.add_argument(_option(key), type=hint, required=True)
    return parser


def _arguments(command: ModuleType) -> dict[str, type]:
    """Return the keyword-only parameters of a command's run and their types: Path, a sequence of Path, or int.

    One that is called code gets what every command is given for its record.
    """
    hints = get_type_hints(command.run)
    keys = [key for key, p in inspect.signature(command.run).parameters.items() if p.kind is p.KEYWORD_ONLY]
    return {key: hints[key] for key in keys}


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


if __name__ == "__main__":
    # Matrix products on a GPU give the same bits in every run only with a fixed workspace, set before CUDA starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    run_process(main)
