"""Table of the machines that trained the models, next to the one that the paper names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from fossil.reporting.tables._latex import NOTHING, TableError, environment, escape, row, spanning, tabular

COMPONENTS = {"gpu": "GPU", "cpu": "CPU", "ram": "RAM", "os": "OS", "framework": "Framework", "python": "Python"}
"""Components in the paper's order, and what they are called in print."""

_LABEL = "env"
_NO_GPU = "none used"
_PRINTED_NOTES = (
    (
        "gpu",
        "RTX 5090 (24 GB)",
        "The paper's GPU is named inexactly: a GeForce RTX 5090 has 32 GB and its laptop version 24 GB, while the "
        "paper's CPU is a desktop's.",
    ),
    (
        "framework",
        "CUDA 12.8, cuDNN 8.9",
        "Its cuDNN 8.9 is of 2023 and older than its GPU and its CUDA 12.8, which are of 2025.",
    ),
    (
        "framework",
        "a0+git",
        "Its PyTorch is a state of development without a commit, which cannot be installed again.",
    ),
)


def specification(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe the machine of a run by its record, a text for each of ``COMPONENTS``; "" for what it lacks."""
    machine, on_cpu = record.get("machine", {}), record["device"] == "cpu"
    gpu = _NO_GPU if on_cpu else record["device"]
    gpu += f" ({machine['gpu_memory_gib']} GiB)" if "gpu_memory_gib" in machine else ""
    counts = [_counted(machine["cores"], "core")] if "cores" in machine else []
    counts += [_counted(record["cpus"], "thread")] if record.get("cpus") else []
    cpu = f"{machine.get('processor', '')} ({', '.join(counts)})" if counts else machine.get("processor", "")
    versions = {"PyTorch": record["versions"].get("torch", ""), "CUDA": machine.get("cuda", "")}
    versions["cuDNN"] = _cudnn_release(machine["cudnn"]) if "cudnn" in machine else ""
    return (
        gpu,
        cpu.strip(),
        f"{machine['memory_gib']} GiB" if "memory_gib" in machine else "",
        machine.get("system", record.get("platform", "")),
        ", ".join(f"{name} {version}" for name, version in versions.items() if version),
        record.get("python", ""),
    )


def environment_table(records: Iterable[Mapping[str, Any]], printed: Mapping[str, str]) -> tuple[pd.DataFrame, str]:
    """Tabulate the machines that ran trainings, the busiest first, next to what the paper prints.

    Parameters
    ----------
    records : iterable of mapping
        The record of each training.
    printed : mapping
        The paper's text by component.

    Returns
    -------
    DataFrame
        machine (1, 2, ...), records, component, specification, paper.
    str
        A LaTeX table environment.

    Raises
    ------
    TableError
        Where there is no record.
    """
    machines = _machines(map(specification, records))
    if not machines:
        raise TableError("no training has a record, so that no machine is known; train something first")
    rows = [
        (place, count, name, text, printed.get(name, ""))
        for place, (texts, count) in enumerate(machines, start=1)
        for name, text in zip(COMPONENTS, texts, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["machine", "records", "component", "specification", "paper"])
    tex = environment(
        caption=_caption(machines),
        label=_LABEL,
        body=_lines(table, several=len(machines) > 1),
        notes=[
            *_measured_notes(table),
            *(escape(note) for name, text, note in _PRINTED_NOTES if text in printed.get(name, "")),
        ],
        gap=6.0,
    )
    return table, tex


def _machines(jobs: Iterable[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
    """Count the jobs of each machine, the busiest first: one that trains on its GPU and also on the CPU is one."""
    machines: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for texts in jobs:
        _, cpu, ram, system, framework, python = texts
        machines.setdefault((cpu, ram, system, framework.partition(", cuDNN")[0], python), []).append(texts)
    counted = []
    for of_one in sorted(machines.values(), key=len, reverse=True):
        gpus = Counter(texts[0] for texts in of_one if texts[0] != _NO_GPU)
        gpu = " and ".join(gpus) or _NO_GPU
        gpu += f", in {gpus.total()} of {len(of_one)} jobs" if 0 < gpus.total() < len(of_one) else ""
        # Jobs on a CPU do not load cuDNN.
        framework = max((texts[4] for texts in of_one), key=len)
        counted.append(((gpu, *of_one[0][1:4], framework, of_one[0][5]), len(of_one)))
    return counted


def _caption(machines: list[tuple[tuple[str, ...], int]]) -> str:
    jobs = sum(count for _, count in machines)
    where = "on one machine" if len(machines) == 1 else f"on {len(machines)} machines"
    return f"Computational environment: {_counted(jobs, 'job')} that trained models, {where}."


def _lines(table: pd.DataFrame, *, several: bool) -> list[str]:
    lines = [row(["Component", "This run", "Paper"])]
    for place, rows in table.groupby("machine"):
        lines.append(r"\midrule")
        if several:
            title = rf"\textit{{Machine {place}}}: {_counted(rows['records'].iloc[0], 'job')}"
            lines.append(row([spanning(3, title, align="@{}l@{}")]))
        lines += [
            row([COMPONENTS[entry.component], escape(entry.specification) or NOTHING, escape(entry.paper) or NOTHING])
            for entry in rows.itertuples()
        ]
    return tabular(r"@{}lp{0.42\linewidth}p{0.36\linewidth}@{}", lines)


def _measured_notes(table: pd.DataFrame) -> list[str]:
    notes = []
    if (table["specification"] == "").any():
        notes.append("-- is what a job did not record.")
    on_cpu = table["specification"].str.startswith(_NO_GPU).any()
    if on_cpu and table["specification"].str.contains("CUDA").any():
        notes.append("Where no GPU was used, CUDA is the version that PyTorch was built with.")
    return notes


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"


def _cudnn_release(number: int) -> str:
    """Return cuDNN's number as its release: 90101 is 9.1.1, and up to version 8, 8902 is 8.9.2."""
    base = 10_000 if number >= 10_000 else 1000
    return f"{number // base}.{number % base // 100}.{number % 100}"
