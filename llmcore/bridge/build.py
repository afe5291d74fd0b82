"""The version of the gateway: its revision, the platform that it runs on, what is configured."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Final

from llmcore.bridge.api import Caller
from llmcore.bridge.service import Service
from llmcore.schema import json
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty, str_or_none
from llmcore.version import VERSION

_DISTRIBUTION: Final = "llmcore-routes"
_LIBRARIES: Final = ("uvicorn", "httptools", "uvloop", "aiohttp", "httpx", "redis", "psycopg")


def version_for(caller: Caller, service: Service) -> JsonObject:
    """Return the version and what is configured, with the models that the caller may use."""
    settings, limits = service.settings, service.settings.limits
    return {
        "name": "openbridge",
        "version": VERSION,
        "build": build_information(),
        "upstream": settings.upstream,
        "models": [name for name in service.names.mapped if caller.allows(name)],
        "state": {"backend": settings.state.backend, "ttl_seconds": settings.state.ttl_s},
        "client_key_required": settings.needs_key,
        "hosted_tools": settings.hosted_tools,
        "structured_output": settings.structured_output,
        "retry_without": list(settings.retry_without),
        "limits": {
            "max_body_bytes": limits.max_body_bytes,
            "max_running": limits.max_running,
            "rate_per_minute": limits.rate_per_minute,
        },
    }


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
