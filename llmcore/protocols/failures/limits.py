"""Limits: waiting times and remainders in headers, and errors of requests that are too long.

Nothing here reads a clock: a duration or date counts from the response's own `Date`
header, and without one it counts as unsaid.

Header families, each from its provider's document:

- OpenAI, Azure, Groq, xAI: `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, resets as
  durations (`6m0s`, `7.66s`) or seconds. https://platform.openai.com/docs/guides/rate-limits,
  https://console.groq.com/docs/rate-limits
- Cerebras, Mistral: the same with a window (`-requests-day`, `-req-minute`, `-tokens-minute`),
  resets in seconds. https://inference-docs.cerebras.ai/support/rate-limits
- Anthropic: `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-...`, resets as
  RFC 3339 times. https://platform.claude.com/docs/en/api/rate-limits
- Hugging Face, Cloudflare: `RateLimit: "name";r=0;t=55`, with what remains and the seconds until it
  is reset. https://huggingface.co/docs/hub/rate-limits
- OpenRouter and gateways: `x-ratelimit-limit` or `ratelimit-limit` and so on, resets as epoch
  seconds, epoch milliseconds or seconds from now. https://openrouter.ai/docs/api/reference/limits

A request that is too long for its model has a different error at each provider: most have a code of
their own, many only state it in the message, in words of their own. The same words also occur where
something else is too long or too many (a string, an image, tokens a minute), so each wording below
is as narrow as the providers' documented messages allow.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property

from attrs import define

from llmcore.schema.json import JsonValue
from llmcore.schema.usage import RateLimitInfo

# -- waiting


def retry_after(
    headers: Mapping[str, str], body: JsonValue = None, message: str = ""
) -> float | None:
    """Return the seconds the provider asks us to wait, at least 0; None if it does not state them.

    Reads `retry-after-ms`, then `retry-after` as seconds, `30s` or HTTP-date (RFC 9110, 10.2.3),
    then Google's `RetryInfo` in the error body or a field such as `retry_after`, then the wording
    of *message*, then the resets of the limits of which nothing remains. What is negative, longer
    than a year or cannot be read counts as unsaid.
    """
    names = lowered(headers)
    for wait_s in _stated_waits(names, body, message):
        if wait_s is not None and 0 <= wait_s <= _LONGEST_WAIT_S:
            return wait_s
    return None


_LONGEST_WAIT_S = 366 * 86400.0


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    """Return *headers* by lower-case name, for look-ups that ignore case."""
    return {name.lower(): value.strip() for name, value in headers.items()}


def _stated_waits(
    names: Mapping[str, str], body: JsonValue, message: str
) -> Iterator[float | None]:
    milliseconds = _number(names.get("retry-after-ms", ""))
    yield None if milliseconds is None else milliseconds / 1000
    stated = names.get("retry-after", "")
    yield _number(stated)
    yield duration_s(stated)
    date, until = _http_date(names.get("date", "")), _http_date(stated)
    yield (until - date).total_seconds() if date and until else None
    yield from _retry_delays(body)
    for match in re.finditer(_TRY_AGAIN, message[:SEARCHED_CHARS], re.ASCII | re.IGNORECASE):
        yield duration_s(match["wait"])
    yield _exhausted_wait(names)


def _exhausted_wait(names: Mapping[str, str]) -> float | None:
    """Return the seconds until every limit of which nothing remains is reset."""
    date = _http_date(names.get("date", ""))
    windows = _windows({name: text for name, text in names.items() if "ratelimit" in name}, date)
    resets = [
        window.reset_at for window in windows.values() if window.remaining == 0 and window.reset_at
    ]
    return (max(resets) - date).total_seconds() if date and resets else None


def _retry_delays(body: JsonValue) -> Iterator[float | None]:
    """Yield the delays of `google.rpc.RetryInfo` in an error body, or in a list of one."""
    outer = next(iter(body), None) if isinstance(body, list) else body
    error = outer.get("error", outer) if isinstance(outer, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            yield duration_s(delay)
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    for holder in (error, metadata, outer):
        yield from _waits_in(holder)


_WAIT_FIELDS = {
    "retry_after": 1.0,
    "retry_after_seconds": 1.0,
    "retry_after_ms": 0.001,
    "estimated_time": 1.0,
    "resets_in_seconds": 1.0,
}
"""Fields of gateways' errors, with the seconds of their unit; `estimated_time` is Hugging Face's,
while a model is loaded, `resets_in_seconds` that of a limit of ChatGPT's plans."""


def _waits_in(holder: JsonValue) -> Iterator[float | None]:
    for name, unit_s in _WAIT_FIELDS.items():
        value = holder.get(name) if isinstance(holder, Mapping) else None
        wait = None if isinstance(value, bool | Mapping | list) else _number(str(value))
        yield None if wait is None else wait * unit_s


# -- durations and dates

SEARCHED_CHARS = 10_000
"""How many characters of a message are searched: some servers echo the whole prompt in it."""
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]*)?", re.ASCII)
_PART = (
    r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*"
    r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
)
_DURATION_PART = re.compile(_PART, re.ASCII | re.IGNORECASE)
_DURATION = re.compile(rf"{_PART}(?:[\s,]*{_PART})*", re.ASCII | re.IGNORECASE)
_TRY_AGAIN = (
    r"\b(?:(?:try again|retry)(?: your request)? (?:in|after):?|wait(?: for)?)"
    rf"(?: about| at least)? (?P<wait>{_DURATION.pattern})"
)
"""Compiled when an error needs it."""
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration_s(text: str) -> float | None:
    """Return the duration in *text*, which has units (`1m30s`, `20ms`), in seconds; else None."""
    if not _DURATION.fullmatch(text.strip()):
        return None
    return sum(float(count) * _unit_s(unit) for count, unit in _DURATION_PART.findall(text))


def _unit_s(unit: str) -> float:
    unit = unit.lower()
    return 0.001 if unit.startswith(("ms", "mil")) else _UNIT_S[unit[0]]


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _http_date(text: str) -> datetime | None:
    try:
        return _utc(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):  # its various errors
        return None


def _rfc3339(text: str) -> datetime | None:
    try:
        return _utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OLDEST_EPOCH_S, _OLDEST_EPOCH_MS = 1e9, 1e11
"""Smaller numbers are seconds from now: a wait of thirty years is implausible."""


def _moment(text: str, date: datetime | None) -> datetime | None:
    """Return the time that a reset header names, counting durations from *date*."""
    number = _number(text)
    if number is None:
        wait_s = duration_s(text)
        return _rfc3339(text) or _http_date(text) if wait_s is None else _later(date, wait_s)
    if number >= _OLDEST_EPOCH_MS:
        return _later(_EPOCH, number / 1000)
    return _later(_EPOCH if number >= _OLDEST_EPOCH_S else date, number)


def _later(start: datetime | None, seconds: float) -> datetime | None:
    try:
        return None if start is None else start + timedelta(seconds=seconds)
    except OverflowError:
        return None


# -- limits

_FIELD = r"(?P<field>limit|remaining|reset)"
_HEADERS = (
    re.compile(
        rf"(?:x-)?ratelimit-{_FIELD}(?:-(?P<subject>requests|req|tokens))?"
        r"(?:-(?P<window>second|minute|hour|day|month))?"
    ),
    re.compile(
        rf"anthropic-ratelimit-(?P<subject>requests|(?:input-|output-)?tokens)-{_FIELD}(?P<window>)"
    ),
)
_SUBJECTS = {"req": "requests", "input-tokens": "part", "output-tokens": "part", None: "any"}
_STRUCTURED = r'"([^"]{0,80})"\s*;\s*r=([0-9]{1,15})\s*;\s*t=([0-9]{1,15})'
"""One limit of the structured header."""
_COUNT = re.compile(r"([0-9]{1,15})(?![0-9])", re.ASCII)


@define
class _Window:
    limit: int | None = None
    remaining: int | None = None
    reset_at: datetime | None = None

    def by_remaining(self) -> tuple[float, float]:
        return (
            math.inf if self.remaining is None else self.remaining,
            math.inf if self.limit is None else self.limit,
        )


def rate_limit_from(headers: Mapping[str, str]) -> RateLimitInfo | None:
    """Return the limits that response *headers* state; None where they state none.

    Where several windows are stated (a minute and a day, input and output tokens), the
    one with the least left: it binds first.
    """
    if "ratelimit" not in "\n".join(headers).lower():  # looked for in all of them at once
        return None
    names = {low: value for name, value in headers.items() if "ratelimit" in (low := name.lower())}
    windows = _windows(names, _http_date(lowered(headers).get("date", "")))
    requests = _tightest(windows, ("requests", "any"))
    tokens = _tightest(windows, ("tokens", "part"))
    if requests == tokens == _Window():
        return None
    return RateLimitInfo(
        requests_limit=requests.limit,
        requests_remaining=requests.remaining,
        requests_reset_at=requests.reset_at,
        tokens_limit=tokens.limit,
        tokens_remaining=tokens.remaining,
        tokens_reset_at=tokens.reset_at,
    )


def _windows(names: Mapping[str, str], date: datetime | None) -> dict[tuple[str, str], _Window]:
    windows: dict[tuple[str, str], _Window] = {}
    for policy, remaining, reset in re.findall(_STRUCTURED, names.get("ratelimit", ""), re.ASCII):
        reset_at = _moment(reset, date)
        windows["any", policy] = _Window(remaining=int(remaining), reset_at=reset_at)
    for name in sorted(names):
        match = next((match for known in _HEADERS if (match := known.fullmatch(name))), None)
        if match is None:
            continue
        subject = _SUBJECTS.get(match["subject"], match["subject"])
        # input and output tokens are limits of their own, though neither is "the" token limit
        window_name = f"{match['subject']} {match['window']}"
        window = windows.setdefault((subject, window_name), _Window())
        if match["field"] == "reset":
            window.reset_at = _moment(names[name], date)
        else:
            setattr(window, match["field"], _count(names[name]))
    return windows


def _count(text: str) -> int | None:
    match = _COUNT.match(text)
    return int(match[1]) if match else None


def _tightest(windows: Mapping[tuple[str, str], _Window], subjects: Sequence[str]) -> _Window:
    for wanted in subjects:
        candidates = [window for (subject, _), window in windows.items() if subject == wanted]
        if candidates:
            return min(candidates, key=_Window.by_remaining)
    return _Window()


# -- the length of the context

_CODES = frozenset(
    {
        "contextlengthexceeded",  # OpenAI, Azure, Groq, Cerebras, OpenRouter
        "exceedcontextsizeerror",  # llama.cpp
        "modelcontextwindowexceeded",  # Z.ai
        "modelmaxprompttokensexceeded",  # GitHub Copilot
        "tokenlimitexceeded",  # OpenRouter, Glean
        "tokenslimitreached",  # GitHub Models
        "1261",  # Z.ai
    }
)
_OTHER_CODES = frozenset(
    {"integerabovemaxvalue", "stringabovemaxlength", "arrayabovemaxlength", "stringtoolong"}
)
"""Codes for a field that is too long, whatever else the message contains."""


class _Wordings:
    """A pattern of several wordings. It is compiled when it is first searched, as few ever are."""

    def __init__(self, *wordings: str) -> None:
        self._wordings = wordings

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Search a text."""
        return re.compile("|".join(self._wordings), re.IGNORECASE | re.ASCII).search


_OVERFLOW = _Wordings(
    # A context limit, and beside it a word for "over". OpenAI, OpenRouter, vLLM, SGLang,
    # llama.cpp, LM Studio, Anthropic, Fireworks, Mistral, MiniMax, DeepSeek, Ollama.
    r"(?:exceed\w*|too (?:long|large|big|many)|(?:greater|longer|larger|more) than)"
    r".{0,80}context[ _-](?:length|window|size|limit)",
    r"context[ _-](?:length|window|size|limit)"
    r".{0,80}(?:exceed|however|too (?:long|large)|but |reduce the length|not enough"
    r"|your request has|you requested)",
    r"but the [\w ]{0,30}(?:context|sequence) (?:length|window|size)",
    r"but model only supports up to \d",
    r"passed \d+ input (?:tokens|characters)\b.{0,60}context length",  # vLLM, of which proxies cut
    # The prompt, as such, too long. Anthropic, Bedrock, vLLM, Z.ai, Azure.
    r"\b(?:prompt|input|messages)(?: \([^)]{0,60}\))?(?: is| are)? too long\b",
    r"\bprompt exceeds max(?:imum)? length",
    r"\binput tokens? exceed",
    # The length of the prompt, or its tokens, against a maximum. TabbyAPI, DeepInfra, Friendli,
    # AI21, Oracle, Snowflake.
    r"\b(?:(?:prompt|input)\b(?! (?:image|audio|video|file|array|string))[^.!]{0,60}?"
    r"\b(?:length|tokens)"
    r"|tokens\b[^.!]{0,40}?\b(?:prompt|input|messages))\b[^.!]{0,40}?"
    r"\b(?:exceeds?|exceeded|(?:greater|longer|larger|more) than)\b"
    r"[^.!]{0,40}?\b(?:max|limit|context)",
    r"\bmax tokens of \d+ exceeded",
    r"超长",
    # Token counts against a maximum. Gemini, xAI, Copilot, SGLang, Cohere, watsonx.
    r"token count\b.{0,40}\bexceeds the (?:maximum number of tokens|limit|model)",
    r"maximum prompt length is \d",
    r"input length \(\d+ tokens\) exceeds",
    r"number of input tokens\b.{0,60}cannot exceed",
    r"exceeded model token limit|model max length exceeded",
    # SiliconFlow, Volcengine, LiteLLM's proxy.
    r"length of prompt_tokens\b.{0,40}must be less than",
    r"exceed max message tokens",
    r"\bcontextwindowexceedederror\b",
    r"too many (?:input )?tokens",
    # Text Generation Inference (Hugging Face, Together), DashScope.
    r"`inputs`.{0,40}(?:must be <=|must have less than)",
    r"range of input length should be",
    # The only wording of Groq and Cerebras.
    r"reduce the length of the (?:messages|prompt|input)",
)
_PER_TIME = _Wordings(
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
    _Wordings(wording.replace("N", _N))
    for wording in (
        r"with N maximum context length",
        r"maximum prompt length is N",
        r"> N maximum",
        r"context limit: \d+ \+ \d+ > N",
        r"maximum number of tokens allowed \(N\)",
        r"only supports up to N",
        r"context (?:length|size|window|limit)(?: limit)?(?: is| of)?(?: only)?[ :(]+N",
        r"exceeds?(?: the)?(?: configured)? limit of N",
        r"maximum allowed (?:input )?length \(N",
        r"cannot exceed(?: the total tokens limit)? N",
        r"limit (?:for this model )?is N",
        r"must be <= N",
        r"must have less than N",
        r"must be less than max_seq_len \(N",
        r"model token limit: N",
        r"max length: ?N",
        r"max size: N tokens",
        r"max input tokens: N",
        r"input length should be \[\d+, ?N\]",
        r"\blimit:? N, (?:used:? [\d,]+, )?requested",
        r"\bmax(?:imum)?(?:_seq_len| tokens of)?(?: (?!by\b)[a-z]+){0,3}(?: is| just)*[ (]+N",
    )
)
_PARTS = tuple(
    map(
        _Wordings,
        (
            r"context limit: (?P<input>\d+) \+ (?P<output>\d+) >",  # Anthropic
            r"passed (?P<input>\d+) input tokens and requested (?P<output>\d+) output",  # vLLM
            r"\((?P<output>\d+) > \d+ - (?P<input>\d+)\)",  # vLLM
            r"given: (?P<input>\d+) `inputs` tokens and (?P<output>\d+)",  # TGI
            # OpenAI, vLLM, DeepSeek, OpenRouter; the input may have several numbers.
            (
                r"requested(?: about)? (?P<total>\d+) tokens"
                r" \([^()]{0,120}?\b(?P<output>\d+) (?:in|for) the (?:completion|output)"
            ),
        ),
    )
)
"""The tokens of the input, and those of the output that was allowed."""
_ACTUAL = tuple(
    _Wordings(wording.replace("N", _N))
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
        r"length of prompt_tokens \(N",
        r"keep the first N tokens",
        r"given: N",
        r"(?:prompt|input)(?: length)? (?:is )?\(?N\b",
    )
)


def is_context_overflow(message: str, codes: Collection[str]) -> bool:
    """Return whether an error means that there are more tokens than the model takes.

    *codes* are its codes and types in lower case, without punctuation.
    """
    if not _CODES.isdisjoint(codes):
        return True
    if not _OTHER_CODES.isdisjoint(codes):
        return False
    text = message[:SEARCHED_CHARS]
    return bool(_OVERFLOW.search(text)) and not _PER_TIME.search(text)


def token_counts(message: str) -> tuple[int | None, int | None]:
    """Return the limit and the actual number of tokens in *message*, each None if missing."""
    text = message[:SEARCHED_CHARS]
    parts = input_and_output(text)
    return _first(_LIMIT, text), sum(parts) if parts else _first(_ACTUAL, text)


def input_and_output(message: str) -> tuple[int, int] | None:
    """Return the tokens of the input and of the allowed output, if *message* has both."""
    match = _match(_PARTS, message[:SEARCHED_CHARS])
    if match is None:
        return None
    counts = {name: int(count) for name, count in match.groupdict().items()}
    output = counts["output"]
    own = counts["input"] if "input" in counts else max(0, counts["total"] - output)
    return own, output


def _first(wordings: tuple[_Wordings, ...], text: str) -> int | None:
    match = _match(wordings, text)
    return int(match[1].replace(",", "")) if match else None


def _match(wordings: tuple[_Wordings, ...], text: str) -> re.Match[str] | None:
    return next((match for wording in wordings if (match := wording.search(text))), None)
