"""The built wheel, installed without internet next to a PyTorch that is already there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.requirements import require_module

REPOSITORY = Path(__file__).parents[2]
OLDEST_TORCH = "2.4.0"
STUDY_ONLY = ["dvc", "kornia", "matplotlib", "pandas", "scipy", "sklearn", "snakemake", "timm", "yaml"]
PROGRAM = f"""
import importlib.util, importlib.metadata, torch, fossil
from fossil import FossilBilevel, FossilOptions, FossilWeights
for name in {STUDY_ONLY}:
    assert importlib.util.find_spec(name) is None, name
inputs, targets = torch.randn(12, 3), torch.tensor([0] * 9 + [1] * 3)
model = torch.nn.Linear(3, 2)
weights = FossilWeights(torch.bincount(targets), epochs=2, options=FossilOptions(warmup_epochs=0))
bilevel = FossilBilevel(model, 12, start=weights(targets, logits=model(inputs)))
bilevel.update([(inputs, targets, torch.arange(12))], [(inputs, targets)])
assert bilevel.weights.isfinite().all()
print(importlib.metadata.version("torch"), fossil.__file__)
"""


def packages_of(text: str) -> dict[str, Distribution]:
    """A package and all that it needs here, by name."""
    needed = Requirement(text)
    try:
        packages = {needed.name: distribution(needed.name)}
    except PackageNotFoundError:
        return {}
    for inner in map(Requirement, packages[needed.name].requires or []):
        if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in ("", *needed.extras)):
            packages |= packages_of(str(inner))
    return packages


def link(package: Distribution, folder: Path) -> None:
    """Install a package by links to its files here."""
    for top in {file.parts[0] for file in package.files or [] if file.parts[0] not in ("..", "__pycache__")}:
        if not (folder / top).exists():
            (folder / top).symlink_to(package.locate_file(top))


def pack(package: Distribution, folder: Path) -> None:
    """Make a wheel again of an installed package."""
    tags = re.findall(r"^Tag: (\w+)-(\w+)-(\w+)$", package.read_text("WHEEL") or "", flags=re.MULTILINE)
    python, abi, platform = (".".join(sorted(set(part))) for part in zip(*tags, strict=True))
    name = re.sub(r"[-_.]+", "_", package.metadata["Name"])
    with zipfile.ZipFile(folder / f"{name}-{package.version}-{python}-{abi}-{platform}.whl", "w") as wheel:
        for file in package.files or []:
            if file.parts[0] != ".." and file.suffix != ".pyc" and file.name not in ("INSTALLER", "REQUESTED"):
                wheel.write(Path(str(file.locate())), str(file))


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--isolated", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("pip")
    require_module("setuptools")
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, folder)
    ignored = shutil.ignore_patterns("__pycache__", ".mypy_cache")
    shutil.copytree(REPOSITORY / "workflow/fossil", folder / "workflow/fossil", ignore=ignored)
    pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "dist", folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """An environment that had the oldest admitted PyTorch before the wheel, and pip's report."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv")
    python = folder / "venv/bin/python"
    (site,) = (folder / "venv/lib").glob("python3*/site-packages")
    there = packages_of("torch") | packages_of("numpy")
    for package in there.values():
        link(package, site)
    # PyTorch's own files, under the version that the project admits at the least.
    (metadata,) = site.glob("torch-*.dist-info")
    text = (metadata / "METADATA").read_text()
    metadata.unlink()
    (site / f"torch-{OLDEST_TORCH}.dist-info").mkdir()
    renamed = re.sub(r"^Version: .*$", f"Version: {OLDEST_TORCH}", text, count=1, flags=re.MULTILINE)
    (site / f"torch-{OLDEST_TORCH}.dist-info/METADATA").write_text(renamed)
    for name, package in packages_of("pydantic").items():
        if name not in there:
            pack(package, wheel.parent)
    report = folder / "report.json"
    index = ("--no-index", "--find-links", wheel.parent)
    pip("--python", python, "install", *index, "--report", report, wheel)
    return python, json.loads(report.read_text())


def test_the_wheel_holds_the_package_alone_and_says_that_it_is_typed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith("fossil_weights-")
    assert "fossil/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"fossil"}


def test_an_environment_with_an_older_pytorch_keeps_it_and_gets_a_handful_of_small_packages(
    installed: tuple[Path, dict[str, Any]],
) -> None:
    added = {package["metadata"]["name"].replace("_", "-") for package in installed[1]["install"]}
    assert added == {"fossil-weights", "pydantic", "pydantic-core", "annotated-types", "typing-inspection"}


def test_the_library_learns_weights_where_nothing_of_the_study_is_installed(
    installed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    python = installed[0]
    done = subprocess.run(
        [python, "-W", "error", "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    torch_version, place = done.stdout.split()
    assert torch_version == OLDEST_TORCH
    assert Path(place).is_relative_to(python.parents[1])
