"""Reading and writing of results: each file is written under a temporary name and renamed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which gets the final name when the block succeeds.

    The temporary name keeps the suffix, for writers that go by it. After an error nothing is left under either name
    that was not there before; what a killed process leaves, the next one overwrites.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write JSON with sorted keys."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as Parquet, without its index; equal tables give equal bytes."""
    with atomic_path(path) as temporary:
        frame.to_parquet(temporary, index=False)


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as CSV, without its index, with every digit."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors with the usual permissions, which save_file would narrow."""
    from safetensors.torch import save

    with atomic_path(path) as temporary:
        temporary.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def visible_files(folder: Path) -> Iterator[Path]:
    """Return the files below a folder, also through links to folders; without hidden files and dangling links.

    Each folder is looked into once, however many links lead to it, so that links in a circle do no harm.
    """
    seen = {os.path.realpath(folder)}
    for parent, folders, names in os.walk(folder, followlinks=True):
        places = {name: os.path.realpath(Path(parent, name)) for name in folders if not name.startswith(".")}
        folders[:] = [name for name in sorted(places) if places[name] not in seen]
        seen.update(places.values())
        paths = (Path(parent, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def sha256(path: Path) -> str:
    """Hash a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
