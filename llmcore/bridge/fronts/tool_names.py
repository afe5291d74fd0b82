"""Tool names: how a client's name, and its namespace, become a function's name.

Every upstream takes letters, digits and `_`, a letter first, and 64 characters. A name that keeps
that rule stays; others are made to fit. The same name always gives the same result, so that
prompt caches stay warm and calls of tools that are gone keep their names.
"""

import hashlib
import re
from collections.abc import Container
from typing import Final

_RESERVED: Final = frozenset({"functions", "multi_tool_use"})
"""What OpenAI's models call the whole of their functions; servers refuse functions of that name."""
_DIGEST: Final = 8
MAX_TOOL_NAME_LENGTH: Final = 64


def function_name(name: str, namespace: str | None = None, *, taken: Container[str] = ()) -> str:
    """Return the function's name for a tool, one that is not *taken*."""
    whole = name if namespace is None else f"{namespace}__{name}"
    fitted = _fitted(whole)
    if len(fitted) <= MAX_TOOL_NAME_LENGTH and fitted not in _RESERVED and fitted not in taken:
        return fitted
    return _with_digest(fitted, f"{namespace or ''}\0{name}")


def _fitted(name: str) -> str:
    """Return *name* in the letters that every upstream takes."""
    letters = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return letters if letters[:1].isascii() and letters[:1].isalpha() else f"t_{letters}"


def _with_digest(fitted: str, identity: str) -> str:
    digest = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=_DIGEST // 2)
    return f"{fitted[: MAX_TOOL_NAME_LENGTH - _DIGEST - 1]}_{digest.hexdigest()}"
