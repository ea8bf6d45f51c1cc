"""Write the configuration's JSON schema and its table of keys; ``make schema`` runs it after a change of the models."""

from __future__ import annotations

from pathlib import Path

from fossil.config.methods.base import NoOptions
from fossil.reporting.config_reference import schema_text, with_key_table
from fossil.runtime.files import write_text

Settings = NoOptions


def run(settings: NoOptions, *, schema: Path, readme: Path) -> None:
    """Write the schema, and the table between its marks in the README."""
    write_text(schema, schema_text())
    write_text(readme, with_key_table(readme.read_text(encoding="utf-8")))
