"""Tool call ids: what each provider takes, and how an id is made to fit.

A call and its result are tied by an id. Providers differ in what they accept, so an id
born at one of them may be refused by the next. `fit` maps such an id to a legal one: the
same input gives the same output in every process (prompt caches depend on it), and two
ids stay two ids, because what is cut off lives on in a hash.
"""

import hashlib
import re
from functools import lru_cache

from attrs import frozen

from llmcore.schema.errors import ConfigurationError

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH_LENGTH = 16
"""Characters of base 62: 95 bits, so that ids of one conversation never meet."""
_LONGEST = 64
"""What an invented id is held to where its rule states no length."""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@frozen
class CallIdRule:
    """What a provider takes as the id of a tool call."""

    pattern: str = r"(?s:.+)"
    """A regular expression for the whole id."""
    max_length: int | None = None
    """Characters; None if there is no limit."""

    def allows(self, call_id: str) -> bool:
        """Whether *call_id* can be sent as it is."""
        if self.max_length is not None and len(call_id) > self.max_length:
            return False
        return _compiled(self.pattern).fullmatch(call_id) is not None


ANY = CallIdRule()
"""Gemini, and servers that state no rule: any text but the empty one."""
OPENAI_CHAT = CallIdRule(max_length=40)
"""Chat Completions answers longer ones with `string_above_max_length`, expecting 40."""
OPENAI_RESPONSES = CallIdRule(max_length=64)
"""The OpenAPI description of `call_id`: 1 to 64 characters."""
ANTHROPIC = CallIdRule(r"[a-zA-Z0-9_-]+", 64)
"""`tool_use.id` must match `^[a-zA-Z0-9_-]+$`."""
BEDROCK = CallIdRule(r"[a-zA-Z0-9_-]+", 64)
"""ToolUseBlock in the API reference. It lately admits `.` and `:`, which older models refuse."""
MISTRAL = CallIdRule(r"[a-zA-Z0-9]{9}", 9)
"""The API's own words: `must be a-z, A-Z, 0-9, with a length of 9`."""


def fit(call_id: str, rule: CallIdRule) -> str:
    """Return *call_id* if *rule* allows it, else a legal id made from it.

    Deterministic, and injective as far as a hash is. ConfigurationError for a rule that
    allows none of the forms we can make.
    """
    if rule.allows(call_id):
        return call_id
    limit = rule.max_length or _LONGEST
    digest = _digest(call_id, min(limit, _HASH_LENGTH))
    readable = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[: max(limit - len(digest) - 1, 0)]
    for candidate in (f"{readable}_{digest}", _digest(call_id, limit), digest):
        if rule.allows(candidate):
            return candidate
    raise ConfigurationError(f"no tool call id can be made that matches {rule.pattern!r}")


def synthetic_call_id(response_id: str | None, turn: int, index: int) -> str:
    """Return the id of a call whose server sent none.

    The same response, turn (which answer of the conversation) and index (which call of the
    answer) always give the same id: letters, digits and `_`, at most 32 characters.
    """
    if response_id is None:
        return f"call_{turn}_{index}"
    return f"call_{_digest(f'{response_id}/{turn}/{index}', _HASH_LENGTH)}"


def _digest(text: str, length: int) -> str:
    """Return *length* letters and digits that depend on all of *text*."""
    data = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=min(length, 64))
    number = int.from_bytes(data.digest(), "big")  # a byte holds more than a base-62 character
    characters = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(characters)
