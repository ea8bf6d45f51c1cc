"""Table of machines: what a record says, machines counted, the paper's beside them; LaTeX takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.claims.reported import read_reported_text
from fossil.commands import tabulate_environment as command
from fossil.reporting.tables._environment import COMPONENTS, environment_table, specification
from fossil.reporting.tables._latex import TableError
from fossil.runtime import provenance
from fossil.runtime.files import write_json
from tests.unit.reporting.table_runs import cells, compiles
from tests.workflow.study import REPOSITORY

PRINTED = REPOSITORY / "workflow" / "paper" / "reported-text.csv"
OLD: dict[str, Any] = {
    "device": "cpu",
    "cpus": 2,
    "platform": "linux-x86_64",
    "python": "3.11.7",
    "versions": {"torch": "2.14.1"},
}
CPU = OLD | {
    "machine": {"system": "Debian GNU/Linux 12", "processor": "AMD EPYC", "cores": 1, "memory_gib": 24, "cuda": "13.0"}
}
GPU = OLD | {
    "device": "NVIDIA H100",
    "cpus": 16,
    "machine": {
        **{"system": "Ubuntu 24.04", "processor": "Intel Xeon", "memory_gib": 128},
        **{"cuda": "13.0", "cudnn": 90101, "gpu_memory_gib": 80},
    },
}


def test_a_record_names_every_component() -> None:
    assert specification(GPU) == (
        "NVIDIA H100 (80 GiB)",
        "Intel Xeon (16 threads)",
        "128 GiB",
        "Ubuntu 24.04",
        "PyTorch 2.14.1, CUDA 13.0, cuDNN 9.1.1",
        "3.11.7",
    )
    assert specification(CPU)[:2] == ("none used", "AMD EPYC (1 core, 2 threads)")


def test_a_record_of_before_names_what_it_has(tmp_path: Path) -> None:
    assert specification(OLD) == ("none used", "(2 threads)", "", "linux-x86_64", "PyTorch 2.14.1", "3.11.7")
    _, tex = environment_table([OLD], {})
    assert cells(tex, "RAM") == ["RAM", "--", "--"]
    assert "-- is what a job did not record." in tex
    assert "The paper" not in tex
    compiles(tex, tmp_path)


def test_machines_are_told_apart_and_counted_the_busiest_first(tmp_path: Path) -> None:
    table, tex = environment_table([GPU, CPU, GPU], {"gpu": "RTX"})
    assert table.groupby("machine")["records"].first().to_dict() == {1: 2, 2: 1}
    assert table["component"].tolist() == [*COMPONENTS] * 2
    assert table["specification"].iloc[0] == "NVIDIA H100 (80 GiB)"
    assert "3 jobs that trained models, on 2 machines." in tex
    assert r"\textit{Machine 2}: 1 job}" in tex
    compiles(tex, tmp_path)


def test_a_machine_that_trains_on_its_gpu_and_on_its_cpu_is_one() -> None:
    machine = {name: value for name, value in GPU["machine"].items() if name not in ("cudnn", "gpu_memory_gib")}
    on_cpu = GPU | {"device": "cpu", "machine": machine}
    table, tex = environment_table([on_cpu, GPU, on_cpu], {})
    assert table["records"].unique().tolist() == [3]
    texts = table.set_index("component")["specification"]
    assert texts["gpu"] == "NVIDIA H100 (80 GiB), in 1 of 3 jobs"
    assert texts["framework"] == "PyTorch 2.14.1, CUDA 13.0, cuDNN 9.1.1"
    assert "on one machine." in tex
    other = GPU | {"device": "NVIDIA A100"}
    assert environment_table([GPU, other], {})[0]["specification"][0] == "NVIDIA H100 (80 GiB) and NVIDIA A100 (80 GiB)"


def test_one_machine_stands_without_a_number() -> None:
    _, tex = environment_table([CPU], {})
    assert "1 job that trained models, on one machine." in tex
    assert "Machine 1" not in tex


def test_the_paper_s_machine_stands_beside_with_what_does_not_fit(tmp_path: Path) -> None:
    printed = read_reported_text(PRINTED, place="env")
    assert set(printed) == set(COMPONENTS)
    table, tex = environment_table([CPU], printed)
    assert table["paper"].tolist() == [printed[name] for name in COMPONENTS]
    assert "32 GB and its laptop version 24 GB" in tex
    assert "cuDNN 8.9 is of 2023" in tex
    assert "cannot be installed again" in tex
    compiles(tex, tmp_path)


def test_without_a_record_there_is_no_table() -> None:
    with pytest.raises(TableError, match="train something first"):
        environment_table([], {})


def test_the_stage_counts_the_records_that_are_there(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for folder in ("synthetic/erm", "phantom/runs/erm-baseline/fold0-seed1", "phantom/runs/erm-baseline/fold1-seed1"):
        (results / folder).mkdir(parents=True)
        write_json(results / folder / "run.json", CPU)
    groups = [
        {"folder": "synthetic", "names": ["erm", "absent"]},
        {"folder": "phantom/runs", "names": ["erm-baseline"], "folds": 2, "seeds": [1, 2]},
    ]
    command.run(
        command.Settings.model_validate({"trainings": groups}),
        results=results,
        reported=PRINTED,
        tex=tmp_path / "t.tex",
        csv=tmp_path / "t.csv",
    )
    assert pd.read_csv(tmp_path / "t.csv")["records"].unique().tolist() == [3]


def test_a_record_of_this_machine_says_what_the_system_says() -> None:
    found = provenance.record(command="s", settings={}, code="", seconds=1.0, facts={})["machine"]
    meminfo = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    kibibytes = int(meminfo["MemTotal"].split()[0])
    assert found["memory_gib"] == pytest.approx(kibibytes / 2**20, abs=0.51)
    assert found["system"]
    assert found["processor"]
