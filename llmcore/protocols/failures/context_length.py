"""Whether an error says that the request does not fit the model, and with which numbers.

Providers agree on no code for this: most say it with a code of their own, many only in
the message, and no two in the same words. The same words also occur where something else
is too long or too many (a string, an image, tokens a minute), so each wording below is as
narrow as the providers' documented messages allow.
"""

import re
from collections.abc import Collection

_SCANNED = 10_000
"""How many characters of a message are searched: some servers echo the whole prompt in it."""

_CODES = frozenset(
    {
        "contextlengthexceeded",  # OpenAI, Azure, Groq, Cerebras, OpenRouter
        "exceedcontextsizeerror",  # llama.cpp
        "modelcontextwindowexceeded",  # Z.ai
        "modelmaxprompttokensexceeded",  # GitHub Copilot
        "tokenlimitexceeded",  # OpenRouter, Glean
        "tokenslimitreached",  # GitHub Models
    }
)
_OTHER_CODES = frozenset(
    {"integerabovemaxvalue", "stringabovemaxlength", "arrayabovemaxlength", "stringtoolong"}
)
"""Codes for a field that is too long, whatever else the message says."""


def _any(*wordings: str) -> re.Pattern[str]:
    return re.compile("|".join(wordings), re.IGNORECASE | re.ASCII)


_OVERFLOW = _any(
    # A context limit, and beside it a word for "over". OpenAI, OpenRouter, vLLM, SGLang,
    # llama.cpp, LM Studio, Anthropic, Fireworks, Mistral, MiniMax, DeepSeek, Ollama.
    r"(?:exceed\w*|too (?:long|large|big|many)|(?:greater|longer|larger|more) than)"
    r".{0,80}context[ _-](?:length|window|size|limit)",
    r"context[ _-](?:length|window|size|limit)"
    r".{0,80}(?:exceed|however|too (?:long|large)|but |reduce the length|not enough"
    r"|your request has)",
    r"but the (?:model |configured )?context (?:length|window|size)",
    r"but model only supports up to \d",
    # The prompt, as such, too long. Anthropic, Bedrock, vLLM, Z.ai, Azure.
    r"\b(?:prompt|input|messages)(?: \([^)]{0,60}\))?(?: is| are)? too long\b",
    r"\bprompt exceeds max(?:imum)? length",
    r"\binput tokens? exceed",
    # Token counts against a maximum. Gemini, xAI, Copilot, SGLang, Cohere, watsonx.
    r"token count\b.{0,40}\bexceeds the (?:maximum number of tokens|limit|model)",
    r"maximum prompt length is \d",
    r"input length \(\d+ tokens\) exceeds",
    r"number of input tokens\b.{0,60}cannot exceed",
    r"exceeded model token limit|model max length exceeded",
    r"too many (?:input )?tokens",
    # Text Generation Inference (Hugging Face, Together), DashScope.
    r"`inputs`.{0,40}(?:must be <=|must have less than)",
    r"range of input length should be",
    # Groq and Cerebras say nothing else.
    r"reduce the length of the (?:messages|prompt|input)",
)
_PER_TIME = _any(
    r"tokens?[ -]per[ -](?:second|sec|minute|min|hour|day|month)",
    r"\b[tr]p[md]\b",
    r"rate[ _-]?limit",
    r"please wait",
    r"throttl",
    r"quota",
)
"""Words of a limit over time, in which "too many tokens" means something else."""

_N = r"(\d[\d,]{0,14})"
_LIMIT = tuple(
    _any(wording.replace("N", _N))
    for wording in (
        r"with N maximum context length",
        r"maximum prompt length is N",
        r"> N maximum",
        r"context limit: \d+ \+ \d+ > N",
        r"maximum number of tokens allowed \(N\)",
        r"only supports up to N",
        r"context (?:length|size|window|limit)(?: is| of)?(?: only)?[ :(]+N",
        r"exceeds?(?: the)?(?: configured)? limit of N",
        r"maximum allowed (?:input )?length \(N",
        r"cannot exceed(?: the total tokens limit)? N",
        r"limit (?:for this model )?is N",
        r"must be <= N",
        r"must have less than N",
        r"model token limit: N",
        r"max length: ?N",
        r"max size: N tokens",
        r"max input tokens: N",
        r"input length should be \[\d+, ?N\]",
        r"\blimit:? N, (?:used:? [\d,]+, )?requested",
    )
)
_SUM = _any(
    r"context limit: (\d+) \+ (\d+) >",  # Anthropic: input and max_tokens
    r"\((\d+) > \d+ - (\d+)\)",  # vLLM: max_tokens and input
    r"given: (\d+) `inputs` tokens and (\d+)",  # TGI: input and max_new_tokens
)
_ACTUAL = tuple(
    _any(wording.replace("N", _N))
    for wording in (
        r"total of (?:at least )?N",
        r"requested(?: about)?:? N",
        r"resulted in N",
        r"request has N input tokens",
        r"(?:request|prompt|input) contains (?:at least )?N",
        r"prompt is too long: N",
        r"prompt (?:has|is) N tokens",
        r"token count(?: of| is|:)? \(?N",
        r"(?:request|input|prompt|tokens|length) \((?:total length )?N(?: tokens)?\)",
        r"received N",
        r"current length is N",
        r"number of input tokens N",
        r"keep the first N tokens",
        r"given: N",
    )
)


def is_context_overflow(message: str, codes: Collection[str]) -> bool:
    """Whether an error says there are more tokens than the model takes.

    *codes* are its codes and types in lower case, without punctuation.
    """
    if not _CODES.isdisjoint(codes):
        return True
    if not _OTHER_CODES.isdisjoint(codes):
        return False
    text = message[:_SCANNED]
    return bool(_OVERFLOW.search(text)) and not _PER_TIME.search(text)


def token_counts(message: str) -> tuple[int | None, int | None]:
    """Return how many tokens fit and how many there were, as far as *message* says so."""
    text = message[:_SCANNED]
    return _first(_LIMIT, text), _sum(text) or _first(_ACTUAL, text)


def _first(wordings: tuple[re.Pattern[str], ...], text: str) -> int | None:
    match = next((match for wording in wordings if (match := wording.search(text))), None)
    return int(match[1].replace(",", "")) if match else None


def _sum(text: str) -> int | None:
    match = _SUM.search(text)
    return sum(int(part) for part in match.groups() if part) if match else None
