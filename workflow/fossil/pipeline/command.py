"""The command of a job: one command, its settings, the digest of its code, and options for its files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from fossil.runtime.digest import code_digest

COMMAND = (
    "python -m fossil {params.command} --settings {params.settings:q} --code={params.code:q} --threads {threads} "
    "--log {log} {params.files}"
)
"""Shell command of every rule that runs a command."""

Settings = Mapping[str, Any]
Paths = Mapping[str, str | Path | Sequence[str]]


class NamedFiles(Protocol):
    """The inputs or the outputs of a job, some of which have names."""

    def items(self) -> Iterable[tuple[str, str | Sequence[str]]]:
        """Return the named ones."""


def command(
    name: str,
    settings: Settings | Callable[[Any], Settings],
    *,
    modules: Callable[[Any], Iterable[str]] | None = None,
    paths: Callable[[Any], Paths] | None = None,
    digest: bool = True,
) -> dict[str, object]:
    """Return the parameters of a rule that ``COMMAND`` needs.

    Parameters
    ----------
    name : str
        The command: a module of ``fossil.commands``.
    settings : mapping or callable
        The command's settings, or what computes them from a job's wildcards.
    modules : callable, optional
        Computes, from a job's wildcards, the modules that the settings name, such as that of a method. The digest
        of the code covers these and the command, with all that they import.
    paths : callable, optional
        Computes, from a job's wildcards, further options: files and folders that are neither inputs nor outputs.
    digest : bool
        Whether an edit of the code reruns the command.
    """
    module = f"fossil.commands.{name}"

    # Snakemake does not record a parameter that is computed from outputs: this one never reruns a job.
    def files(wildcards: object, input: NamedFiles, output: NamedFiles) -> str:  # noqa: A002 (Snakemake's names)
        return options([*input.items(), *output.items(), *(paths(wildcards).items() if paths else ())])

    def code(wildcards: object) -> str:
        return code_digest(module, *(modules(wildcards) if modules else ())) if digest else ""

    return {
        "command": name,
        "settings": (lambda wildcards: as_json(settings(wildcards))) if callable(settings) else as_json(settings),
        "code": code,
        "files": files,
    }


def options(named: Iterable[tuple[str, str | Path | Sequence[str]]]) -> str:
    """Format files as options of the same names; an empty list of files gives none."""
    lists = [(name, [files] if isinstance(files, str | Path) else files) for name, files in named]
    return " ".join(shlex.join([f"--{name.replace('_', '-')}", *map(str, files)]) for name, files in lists if files)


def as_json(settings: Settings) -> str:
    """Format settings as JSON with sorted keys; models of the configuration become their values."""
    return json.dumps(settings, sort_keys=True, default=_values)


def _values(model: BaseModel) -> Any:
    return model.model_dump(mode="json")
