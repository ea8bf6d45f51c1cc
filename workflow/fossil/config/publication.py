"""What may be published with a version of the results."""

from __future__ import annotations

from pydantic import Field

from fossil.config.strict import Strict


class Publishing(Strict):
    """What may be published; no result depends on it."""

    allow_uncommitted: bool = Field(
        False,
        description="Publish also what code in no commit made; the version's record then names the files.",
    )
    own_images: bool = Field(
        False,
        description="Publish also what is decoded from a folder of yours. Without it, a copy elsewhere has the "
        "results, but trains everything anew where a run is added.",
    )
