"""Configuration of the files that a published version may hold."""

from __future__ import annotations

from pydantic import Field

from fossil.config.strict import Strict


class Publishing(Strict):
    """Files that may be published; no result depends on them."""

    allow_uncommitted: bool = Field(
        False,
        description="Publish results of code that is in no commit. The version's record then names the files.",
    )
    own_images: bool = Field(
        False,
        description="Publish images that were decoded from a folder of yours. Without them, another clone has the "
        "results, but decodes and trains again where a run is added.",
    )
