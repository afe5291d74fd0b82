"""The build of the gateway: its revision, and the platform that it runs on."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Final

from llmcore.schema import json
from llmcore.schema.json import JsonObject, object_or_empty, str_or_none

_DISTRIBUTION: Final = "llmcore-routes"
_LIBRARIES: Final = ("uvicorn", "httptools", "uvloop", "aiohttp", "httpx", "redis", "psycopg")


@cache  # all files of installed packages are looked through
def build_information() -> JsonObject:
    """Return the revision that is installed, if known, and versions of Python and libraries."""
    return {
        "revision": _revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": _versions(),
    }


def _revision() -> str | None:
    """Return the commit that was installed from a repository (PEP 610)."""
    try:
        origin = distribution(_DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    vcs = object_or_empty(object_or_empty(json.loads(origin or "{}")).get("vcs_info"))
    return str_or_none(vcs.get("commit_id"))


def _versions() -> Mapping[str, str]:
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return versions
