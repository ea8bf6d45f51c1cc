"""The example and the snippets of the README and the library's guide run as they stand."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

REPOSITORY = Path(__file__).parents[3]
EXAMPLE = REPOSITORY / "workflow/examples/breast_cancer.py"


@pytest.mark.parametrize(("data", "epochs"), [("breast_cancer", 2), ("digits", 1)])
def test_the_example_prints_finite_results_of_four_trainings(data: str, epochs: int) -> None:
    arguments = ["--data", data, "--epochs", str(epochs), "--seeds", "2"]
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE, *arguments], capture_output=True, text=True, check=True
    )
    title, _, *rows = done.stdout.splitlines()
    assert title == f"{data}, rare classes 1:9, {epochs} epochs, 2 seeds: mean (SD)"
    names = ["plain", "FossilWeights", "FossilBilevel", "FossilBilevel, 0 updates"]
    assert [row[:24].rstrip() for row in rows] == names
    for row in rows:
        numbers = [float(number) for number in re.findall(r"[\d.]+", row[24:])]
        assert len(numbers) == 4
        assert all(0 <= number <= 1 for number in numbers)


def test_each_loop_of_the_example_has_at_most_five_lines_of_fossil_and_no_other_use_of_it() -> None:
    lines = EXAMPLE.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, start=1) if line.endswith("# FOSSIL")}
    tree = ast.parse(EXAMPLE.read_text())
    loops = {
        node.name: len(marked & set(range(node.lineno, node.end_lineno + 1)))
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    (imported,) = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "fossil"]
    assert imported.lineno in marked
    assert {name: count for name, count in loops.items() if count} == {"train_with_weights": 3, "train_bilevel": 4}
    assert sum(loops.values()) + 1 == len(marked)
    assert max(loops.values()) + 1 <= 5
    used = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and "Fossil" in node.id}
    assert used <= marked


def snippets_of(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / name).read_text(), flags=re.DOTALL)


def test_the_readme_shows_the_first_snippet_of_the_guide() -> None:
    assert snippets_of("README.md") == snippets_of("workflow/docs/library.md")[:1]


def test_the_snippets_of_the_guide_run_as_they_stand() -> None:
    snippets = snippets_of("workflow/docs/library.md")
    assert len(snippets) == 2
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(40, 3, generator=generator)
    targets = (inputs[:, 0] > 1).long()
    model = torch.nn.Linear(3, 2)
    names = {
        "model": model,
        "optimiser": torch.optim.SGD(model.parameters(), lr=0.1),
        "epochs": 2,
        "train_inputs": inputs,
        "train_targets": targets,
        "loader": DataLoader(TensorDataset(inputs, targets), batch_size=16, shuffle=True),
        "validation_loader": DataLoader(TensorDataset(inputs, targets), batch_size=16),
    }
    before = model.weight.detach().clone()
    for snippet in snippets:
        exec(snippet, names)
    assert names["weights"].epoch == 2
    assert not torch.equal(model.weight, before)
    assert not torch.equal(names["bilevel"].weights, torch.ones(40))
