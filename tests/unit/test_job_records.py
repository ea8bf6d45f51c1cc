"""Snakemake's records of jobs, as it writes and reads them itself."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from snakemake.persistence import MetadataRecord
from snakemake.persistence.file import FilePersistence

from fossil.versions.commands import VersionError
from fossil.versions.job_records import (
    incomplete_files,
    incomplete_until_done,
    needed_files,
    newest_time,
    read_job_records,
    records_as_lines,
    records_of_lines,
    write_job_records,
)

SHORT = "results/tables/a.csv"
LONG = f"results/{'a-long-name/' * 40}run.json"


@pytest.fixture
def here(tmp_path: Path) -> Any:
    with chdir(tmp_path):
        yield tmp_path


def record(command: str, *inputs: str, endtime: float = 1.0) -> dict[str, Any]:
    return {"shellcmd": command, "input": list(inputs), "endtime": endtime}


def test_records_that_snakemake_wrote_are_read_and_those_written_here_are_read_by_it(here: Path) -> None:
    snakemakes = FilePersistence(nolock=True, path=here / ".snakemake")
    for output in (SHORT, LONG):
        snakemakes._write_record(output, MetadataRecord(rule="train", params=["'é'"], endtime=2.5))
    found = read_job_records()
    assert set(found) == {SHORT, LONG}
    assert (found[LONG]["rule"], found[LONG]["params"], found[LONG]["endtime"]) == ("train", ["'é'"], 2.5)
    (here / "elsewhere").mkdir()
    with chdir(here / "elsewhere"):
        write_job_records(records_of_lines(records_as_lines(found)))
        again = FilePersistence(nolock=True, path=Path(".snakemake").absolute())
        assert again._read_record(SHORT) == snakemakes._read_record(SHORT)
        assert again._read_record(LONG) == snakemakes._read_record(LONG)


def test_equal_records_give_equal_lines_in_whatever_order_they_were_found() -> None:
    one, two = record("a", "x", "y"), {"input": ["x", "y"], "endtime": 1.0, "shellcmd": "a"}
    assert records_as_lines({"p": one, "q": two}) == records_as_lines({"q": one, "p": two})
    assert records_of_lines(records_as_lines({"p": one})) == {"p": one}


def test_a_record_that_was_half_written_is_an_error_that_names_the_file(here: Path) -> None:
    write_job_records({SHORT: record("a")})
    (place,) = (path for path in (here / ".snakemake").rglob("*") if path.is_file())
    place.write_text(place.read_text()[:-5])
    with pytest.raises(VersionError, match=rf"Snakemake's record of {SHORT} is damaged: delete {SHORT}"):
        read_job_records()


def test_files_with_other_names_are_no_records(here: Path) -> None:
    write_job_records({SHORT: record("a")})
    (here / ".snakemake/metadata/.DS_Store").write_bytes(b"\0")
    assert set(read_job_records()) == {SHORT}


def test_needed_are_all_files_of_the_jobs_on_the_way_and_the_sources_that_no_job_made() -> None:
    records = {
        "table": record("tabulate", "run", "claims"),
        "run": record("train --record run --model model", "images"),
        "model": record("train --record run --model model", "images"),
        "images": record("draw"),
        "old": record("train --record old", "images"),
    }
    assert needed_files(records, ["table", "note"]) == ({"table", "run", "model", "images"}, {"claims", "note"})


def test_files_are_incomplete_for_snakemake_until_the_block_ends_well(here: Path) -> None:
    snakemakes = FilePersistence(nolock=True, path=here / ".snakemake")
    both = [SHORT, LONG]
    with incomplete_until_done(both):
        assert snakemakes._filter_incomplete_keys(both) == incomplete_files() == {*both}
    snakemakes._clear_cache()
    assert snakemakes._filter_incomplete_keys(both) == incomplete_files() == set()
    with pytest.raises(KeyboardInterrupt), incomplete_until_done(both):
        raise KeyboardInterrupt
    snakemakes._clear_cache()
    assert snakemakes._filter_incomplete_keys(both) == {*both}


def test_the_newest_time_is_that_of_the_job_that_ended_last() -> None:
    assert newest_time({"a": record("a", endtime=2.0), "b": record("b", endtime=3.5), "c": record("c")}) == 3.5
