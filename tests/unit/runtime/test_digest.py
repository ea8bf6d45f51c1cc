"""The digest of a command's code: which edits change it, tried on a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fossil
from fossil.runtime.digest import code_digest, imported_modules, listing_digest

SCRIPT = """
import json, fossil
from fossil.runtime.digest import code_digest
commands = {
    "train_stacked with erm": ("fossil.commands.train_stacked", "fossil.methods.erm"),
    "train_stacked with focal": ("fossil.commands.train_stacked", "fossil.methods.focal"),
    "train_stacked with fossil": ("fossil.commands.train_stacked", "fossil.methods.fossil"),
    "train_stacked with curriculum": ("fossil.commands.train_stacked", "fossil.methods.curriculum"),
    "train_fold with erm": ("fossil.commands.train_fold", "fossil.methods.erm"),
    "collect_stacked": ("fossil.commands.collect_stacked",),
    "draw_phantom": ("fossil.commands.draw_phantom",),
}
print(json.dumps({"file": fossil.__file__, **{name: code_digest(*modules) for name, modules in commands.items()}}))
"""


class Copy:
    """A copy of the package that may be edited."""

    def __init__(self, root: Path) -> None:
        self.root = root
        source = Path(fossil.__file__).parent
        shutil.copytree(source, root / "fossil", ignore=shutil.ignore_patterns("__pycache__"))
        self.before = self.digests()

    def digests(self) -> dict[str, str]:
        """Digests in a fresh process, which imports the copy."""
        done = run_python(SCRIPT, PYTHONPATH=str(self.root))
        found: dict[str, str] = json.loads(done)
        assert Path(found.pop("file")).is_relative_to(self.root)
        return found

    @contextmanager
    def edited(self, module: str, text: str) -> Iterator[None]:
        """Append to a module, and take it back."""
        path = self.root / "fossil" / module
        source = path.read_text()
        path.write_text(source + text)
        try:
            yield
        finally:
            path.write_text(source)

    def changed_by_editing(self, module: str, *, before: dict[str, str] | None = None) -> set[str]:
        """Which digests differ after an edit."""
        with self.edited(module, "\n# An edit.\n"):
            after = self.digests()
        return {name for name, digest in after.items() if digest != (before or self.before)[name]}


def run_python(script: str, **environment: str) -> str:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Copy(tmp_path_factory.mktemp("copy"))


STACKED = {f"train_stacked with {method}" for method in ("erm", "focal", "fossil", "curriculum")}
TRAINING = {*STACKED, "train_fold with erm"}


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        # The command itself, and what only it imports.
        ("commands/train_stacked.py", STACKED),
        ("commands/collect_stacked.py", {"collect_stacked"}),
        ("training/stacked.py", STACKED),
        ("data/splits.py", STACKED),
        # Imported by way of others.
        ("likelihood.py", TRAINING),
        ("evaluation/regret.py", {"collect_stacked"}),
        # A method counts for itself; schedules for the methods that use them.
        ("methods/erm.py", {"train_stacked with erm", "train_fold with erm"}),
        ("methods/focal.py", {"train_stacked with focal"}),
        ("methods/fossil.py", {"train_stacked with fossil"}),
        ("schedules.py", {"train_stacked with fossil", "train_stacked with curriculum"}),
        ("methods/base.py", TRAINING),
        # Packages that hold an imported module are imported too.
        ("methods/__init__.py", TRAINING),
        ("evaluation/__init__.py", {"collect_stacked"}),
        # Everything writes files.
        ("runtime/files.py", {*TRAINING, "collect_stacked", "draw_phantom"}),
        # The configuration counts where it is imported: the models of a training and of a method, and what all share.
        ("config/strict.py", {*TRAINING, "collect_stacked", "draw_phantom"}),
        ("config/image_training.py", {"train_fold with erm"}),
        ("config/methods/focal.py", {"train_stacked with focal"}),
        # The keys of the studies reach a command as settings; the runner and another command are not imported.
        ("config/studies.py", set()),
        ("config/methods/__init__.py", TRAINING),
        ("__main__.py", set()),
        ("commands/make_manifest.py", set()),
        ("reporting/style.py", set()),
    ],
)
def test_edit_changes_the_digests_of_the_stages_that_import_the_module_and_no_others(
    module: str, changed: set[str], copy: Copy
) -> None:
    assert copy.changed_by_editing(module) == changed


def test_digest_does_not_change_without_an_edit(copy: Copy) -> None:
    assert copy.digests() == copy.before
    assert len(set(copy.before.values())) == len(copy.before)


def test_new_import_counts_with_the_module_that_it_brings_in(copy: Copy) -> None:
    with copy.edited("commands/draw_phantom.py", "\nimport fossil.evaluation.regret\n"):
        changed = copy.changed_by_editing("evaluation/regret.py", before=copy.digests())
    assert changed == {"collect_stacked", "draw_phantom"}


def test_import_for_type_checking_alone_does_not_count(copy: Copy) -> None:
    text = "\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import fossil.evaluation.regret\n"
    with copy.edited("commands/draw_phantom.py", text):
        changed = copy.changed_by_editing("evaluation/regret.py", before=copy.digests())
    assert changed == {"collect_stacked"}


def test_order_of_the_modules_does_not_matter() -> None:
    names = ("fossil.commands.train_stacked", "fossil.methods.erm")
    assert code_digest(*names) == code_digest(*reversed(names))
    assert code_digest(*names) != code_digest(names[0])


def test_modules_that_count_are_the_named_ones_their_imports_and_their_packages() -> None:
    assert imported_modules("fossil.methods.curriculum") == {
        "fossil",
        "fossil.config",
        "fossil.config.methods",
        "fossil.config.methods.base",
        "fossil.config.methods.curriculum",
        "fossil.config.methods.temperature",
        "fossil.config.strict",
        "fossil.hypergradient",
        "fossil.hypergradient.problem",
        "fossil.likelihood",
        "fossil.methods",
        "fossil.methods.base",
        "fossil.methods.curriculum",
        "fossil.schedules",
    }


def test_importing_a_registry_counts_all_that_is_registered() -> None:
    counted = imported_modules("fossil.config.root")
    assert {f"fossil.config.methods.{name}" for name in ("erm", "static", "focal", "fossil_bilevel")} <= counted
    assert not any(name.startswith("fossil.methods") for name in counted)


def test_importing_configuration_and_digest_imports_neither_torch_nor_pandas() -> None:
    script = (
        "import sys, fossil.config; from fossil.runtime.digest import code_digest; "
        "code_digest('fossil.commands.train_stacked'); "
        "print([name for name in ('torch', 'pandas', 'numpy', 'sklearn') if name in sys.modules])"
    )
    assert run_python(script).strip() == "[]"


def test_listing_digest_sees_names_and_sizes_and_not_times(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    first = tmp_path / "images" / "a.png"
    first.write_bytes(b"123")
    before = listing_digest(tmp_path)
    os.utime(first, (0, 0))
    (tmp_path / "empty").mkdir()
    assert listing_digest(tmp_path) == before
    first.write_bytes(b"1234")
    larger = listing_digest(tmp_path)
    first.rename(tmp_path / "images" / "b.png")
    assert len({before, larger, listing_digest(tmp_path)}) == 3


def test_listing_digest_is_the_same_for_the_same_files_elsewhere(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        (root / "sub").mkdir(parents=True)
        (root / "sub" / "x.png").write_bytes(b"abc")
    assert listing_digest(one) == listing_digest(two) != listing_digest(one / "sub")


def test_listing_digest_passes_over_files_that_are_no_images(tmp_path: Path) -> None:
    (tmp_path / "a.PNG").write_bytes(b"12345")
    before = listing_digest(tmp_path)
    (tmp_path / "notes.txt").write_text("new")
    (tmp_path / "._a.png").write_bytes(b"of the file system")
    assert listing_digest(tmp_path) == before
    (tmp_path / "b.jpg").write_bytes(b"1")
    assert listing_digest(tmp_path) != before
