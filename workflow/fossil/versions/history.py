"""What the commits of this repository tell of the versions in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fossil.versions.commands import git
from fossil.versions.pointers import VERSION, Pointer, holds_object, listed_files

# And no stash, which is soon dropped.
_BRANCHES_AND_TAGS = ("--branches", "--tags", "--remotes")


def hashes_in_commits(cache: Path) -> set[str]:
    """MD5 of every file of every version that is in some commit of any branch or tag, as far as the cache can tell."""
    known: set[str] = set()
    for pointer in set(_pointers()):
        if not pointer.is_folder or holds_object(cache, pointer.md5):
            known |= set(listed_files(pointer, cache).values())
    return known


def _pointers() -> Iterator[Pointer]:
    commits = git(
        "log", *_BRANCHES_AND_TAGS, "--full-history", "-m", "--diff-filter=AM", "--format=%H", "--", str(VERSION)
    )
    for commit in dict.fromkeys(commits.split()):
        with suppress(json.JSONDecodeError):  # committed in the middle of a merge
            files = json.loads(git("show", f"{commit}:{VERSION}"))["files"]
            yield from (Pointer(Path(path), **told) for path, told in files.items())
