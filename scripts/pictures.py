"""The pictures of the documentation, drawn from the code as SVG files in `docs/pictures/`.

    python scripts/pictures.py

writes them; a test reports when that is due. They show what the library really does: a prepared
request, the events of a stream, the order of middleware, the packages and their imports, the table
of the comparison.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, Final
from xml.sax.saxutils import escape

from attrs import define, field

from llmcore import Anthropic, Client, LLMRequest, OpenAI, request
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject
from llmcore.testing import scripted

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "pictures"
WIDTH: Final = 860
INK, PALE, LINE = "#1f2933", "#f3f6fa", "#9aa8b8"
COLOURS: Final = ("#2563a8", "#8a4b08", "#1d7a4f", "#8b2f6b", "#5a4fb0", "#a12b2b")
"""All have a contrast of more than 4.5 to white, and those below to the dark boxes."""
MUTED: Final = "#5b6875"
DARK: Final = {
    "#ffffff": "#171b22",
    PALE: "#232a35",
    LINE: "#7b8a9c",
    INK: "#e4eaf1",
    MUTED: "#a3b0be",
    **dict(
        zip(
            COLOURS,
            ("#7fb5f0", "#e2a55c", "#62cf9c", "#e391c6", "#aca3f5", "#f19090"),
            strict=True,
        )
    ),
}
"""The colour in a dark theme for each one. A browser takes the theme of the page around the image
(`color-scheme`), or else that of the system."""


@define
class Picture:
    """An SVG of a fixed width, which grows downwards."""

    title: str
    height: int
    parts: list[str] = field(factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, fill: str = "#ffffff"
    ) -> None:
        """Draw a rounded rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
            f'fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        )

    def text(
        self, x: float, y: float, words: str, *, colour: str = INK, style: str = "", size: int = 14
    ) -> None:
        """Write a line. *style* names classes: `b` bold, `c` code, `m` middle, `e` end."""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" class="{style}" fill="{colour}">'
            f"{escape(words)}</text>"
        )

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Draw an arrow."""
        self.parts.append(
            f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{LINE}" stroke-width="2" '
            'marker-end="url(#tip)"/>'
        )

    def svg(self) -> str:
        """Return the file."""
        tip = (
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>'
        )
        style = (
            "text{font-family:system-ui,sans-serif}.b{font-weight:600}.m{text-anchor:middle}"
            ".e{text-anchor:end}.c{font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre}"
            f"@media (prefers-color-scheme:dark){{{_dark_rules()}}}"
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'role="img"><title>{escape(self.title)}</title><style>{style}</style>'
            f"<defs>{tip}</defs>"
            f'<rect width="{WIDTH}" height="{self.height}" rx="10" fill="{PALE}"/>'
        )
        return "\n".join([head, *self.parts, "</svg>\n"])


def _dark_rules() -> str:
    return "".join(
        f'[{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    )


def shortened(text: str, length: int) -> str:
    """Return *text*, cut to *length* characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


# -- the route of a request


def route() -> Picture:
    """Return the four parts of a route, each with what it adds to one real request."""
    model = Anthropic(api_key="sk-ant-example").model("claude-sonnet-4-6")
    prepared = Client(environ={}).prepare(request(model=model, prompt="Hi")).unwrap()
    found: Any = model.route
    body = json.dumps({name: prepared.body[name] for name in ("model", "messages")})
    rows = (
        ("Protocol", "which API: builds the body", found.protocol.id, shortened(body, 66)),
        ("Endpoint", "where: base URL, path, query", "", f"{prepared.method} {prepared.url}"),
        ("Auth", "as whom: signs the request", "", f"x-api-key: {prepared.headers['x-api-key']}"),
        (
            "Framing",
            "how the response is cut into frames",
            "",
            f"{found.framing.id}: data: {{...}}",
        ),
    )
    picture = Picture("The route of a request", 330)
    picture.text(20, 34, "LLMRequest", style="b")
    picture.text(136, 34, 'request(model=model, prompt="Hi")', style="c", size=13)
    for number, (name, question, kind, shown) in enumerate(rows):
        y, colour = 58 + number * 64, COLOURS[number]
        picture.arrow(40, y - 12, 40, y)
        picture.box(20, y, 820, 48, colour)
        picture.text(34, y + 20, name, style="b", colour=colour)
        picture.text(34, y + 38, question, size=12)
        picture.text(280, y + 20, kind, size=12, colour=colour)
        picture.text(280, y + 38, shortened(shown, 72), style="c", size=12)
    return picture


# -- from bytes to events


CHUNKS: Final[tuple[tuple[JsonObject, str | None], ...]] = (
    ({"role": "assistant", "content": "Hel"}, None),
    ({"content": "lo"}, None),
    ({}, "stop"),
)


def frames() -> list[str]:
    """Return the data of a small stream of Chat Completions."""
    return [
        json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        for delta, reason in CHUNKS
    ]


def events_of(*bodies: Sequence[str]) -> list[LLMEvent]:
    """Return the events of a stream whose data lines are those of *bodies*."""

    async def read() -> list[LLMEvent]:
        body = [f"data: {line}\n\n" for lines in bodies for line in lines]
        client = Client(transport=scripted([*body, "data: [DONE]\n\n"]))
        model = OpenAI(api_key="sk-example").chat("gpt-4.1")
        async with client.stream(request(model=model, prompt="Hi")) as stream:
            return [event async for event in stream]

    return asyncio.run(read())


def frames_to_events() -> Picture:
    """Return what each frame of one stream becomes."""
    everything = frames()
    picture = Picture("From bytes to events", 84 + 58 * len(everything))
    picture.text(20, 34, "bytes, cut by the framing", style="b")
    picture.text(540, 34, "events of the protocol and the folds", style="b")
    seen = 0
    for number, frame in enumerate(everything):
        last = number == len(everything) - 1
        events = events_of(everything[: number + 1])
        new = events[seen:] if last else [one for one in events[seen:] if "delta" in one.type]
        if number == 0:
            new = events[: next(n for n, one in enumerate(events) if "delta" in one.type) + 1]
        seen = seen + len(new)
        y = 52 + number * 58
        picture.box(20, y, 480, 48, COLOURS[0])
        for row, line in enumerate(wrap("data: " + frame, 62)):
            picture.text(30, y + 18 + row * 17, line, style="c", size=12)
        picture.arrow(502, y + 24, 534, y + 24)
        picture.box(536, y, 304, 48, COLOURS[2])
        for row, words in enumerate(_lines(new)):
            picture.text(546, y + 18 + row * 17, words, style="c", size=12)
    words = "If the connection closes before the last frame, the stream ends in an error."
    picture.text(20, picture.height - 14, words, size=13)
    return picture


def _lines(events: Sequence[LLMEvent]) -> list[str]:
    names = [f"{type(one).__name__}{_text(one)}" for one in events]
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) > 38:
            lines.append("")
        lines[-1] += f"{name} "
    return lines[:2]


def _text(event: LLMEvent) -> str:
    text = getattr(event, "text", None)
    return f"({text!r})" if isinstance(text, str) else ""


# -- the timeline of a stream


def interleaved() -> list[str]:
    """Return a stream with reasoning, text and two calls that arrive at the same time."""

    def call(index: int, **fields: object) -> dict[str, object]:
        return {"tool_calls": [{"index": index, **fields}]}

    def begin(index: int, name: str) -> dict[str, object]:
        function = {"name": name, "arguments": ""}
        return call(index, id=f"c{index}", type="function", function=function)

    deltas: list[dict[str, object]] = [
        {"reasoning_content": "Two cities"},
        {"reasoning_content": ", two calls."},
        {"content": "I look "},
        {"content": "it up."},
        begin(0, "weather"),
        begin(1, "weather"),
        call(0, function={"arguments": '{"city":'}),
        call(1, function={"arguments": '{"city":'}),
        call(0, function={"arguments": '"Oslo"}'}),
        call(1, function={"arguments": '"Rome"}'}),
    ]
    ends = [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    return [
        *(json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas),
        json.dumps({"choices": ends}),
    ]


def timeline() -> Picture:
    """Return the events of one stream in lanes: one for each segment."""
    events = events_of(interleaved())
    lanes = list(dict.fromkeys(_lane(event) for event in events))
    step = (WIDTH - 220) / len(events)
    picture = Picture("The events of a stream", 70 + 44 * len(lanes))
    picture.text(20, 30, "segments", style="b")
    picture.text(190, 30, "events in the order in which they arrive", style="b")
    for row, lane in enumerate(lanes):
        y, colour = 50 + row * 44, COLOURS[row % len(COLOURS)]
        own = [number for number, event in enumerate(events) if _lane(event) == lane]
        picture.text(20, y + 20, lane, colour=colour, style="b", size=13)
        if lane != _STREAM:
            start = 190 + own[0] * step
            picture.box(start, y + 2, (own[-1] - own[0] + 1) * step - 4, 28, colour)
        for number in own:
            x = 190 + (number + 0.5) * step - 2
            picture.text(x, y + 20, _mark(events[number]), style="b m", size=11, colour=colour)
    picture.text(20, picture.height - 8, _KEY, size=12)
    return picture


_STREAM: Final = "stream and step"
_KEY: Final = (
    "S start, Δ delta, E end, C the complete call; ▶ StreamStart, StepStart; ■ StepFinish, Finish"
)


def _lane(event: LLMEvent) -> str:
    kind = event.type.split("-")[0]
    if event.type in ("tool-call", "tool-input-start", "tool-input-delta", "tool-input-end"):
        return f"call {getattr(event, 'id', '')}"
    return kind if kind in ("text", "reasoning") else _STREAM


def _mark(event: LLMEvent) -> str:
    if _lane(event) == _STREAM:
        return "▶" if event.type.endswith("start") else "■"
    if event.type == "tool-call":
        return "C"
    return {"start": "S", "delta": "Δ", "end": "E"}[event.type.rpartition("-")[2]]


# -- middleware


def middleware() -> Picture:
    """Return the order in which middleware sees a request and its response, found by a call."""
    names, seen = ("first", "second", "third"), []

    def named(name: str) -> Any:
        def middle(asked: LLMRequest, next: Next) -> EventStream:
            seen.append(f"{name}: request")
            return next(asked).watch(end=lambda _result: seen.append(f"{name}: result"))

        return middle

    async def call() -> None:
        client = Client(
            transport=scripted([f"data: {line}\n\n" for line in frames()] + ["data: [DONE]\n\n"]),
            middleware=[named(name) for name in names],
        )
        model = OpenAI(api_key="sk-example").chat("gpt-4.1")
        await client.stream(request(model=model, prompt="Hi")).result()

    asyncio.run(call())
    order = [one.partition(":")[0] for one in seen]
    outward = order[len(names) :]
    picture = Picture("The order of middleware", 290)
    picture.text(20, 32, "Client(middleware=[first, second, third])", style="c", size=13)
    for depth, name in enumerate(order[: len(names)]):
        x, y = 170 + depth * 50, 48 + depth * 34
        picture.box(x, y, WIDTH - 2 * x, 226 - 2 * (y - 48), COLOURS[depth])
        picture.text(x + 14, y + 22, name, style="b", colour=COLOURS[depth])
    picture.box(320, 146, 220, 34, INK, PALE)
    picture.text(WIDTH / 2, 168, "the provider answers", style="m")
    picture.arrow(20, 156, 314, 156)
    picture.arrow(546, 156, 840, 156)
    picture.text(20, 146, "request", size=13)
    picture.text(20, 178, " → ".join(order[: len(names)]), size=11)
    picture.text(840, 146, "events, result", size=13, style="e")
    picture.text(840, 178, " → ".join(outward), size=11, style="e")
    return picture


# -- the packages


def layers() -> Picture:
    """Return the packages of the library, each above those that it imports."""
    text = (ROOT / "llmcore" / "__init__.py").read_text("utf-8")
    rooms = dict(re.findall(r"^- `(\w+)`: (.+)$", text, re.MULTILINE))
    core = ("schema", "folds", "protocols", "routes", "client", "generation")
    beside = [name for name in rooms if name not in core]
    picture = Picture("The packages of llmcore", 60 + 48 * max(len(core), len(beside)))
    picture.text(20, 32, "each imports only what is below it", style="b")
    picture.text(450, 32, "built beside and on top", style="b")
    for row, name in enumerate(reversed(core)):
        pure = name not in ("client", "generation")
        _room(picture, 20, 48 + row * 48, name, rooms[name], COLOURS[2 if pure else 0])
    for row, name in enumerate(beside):
        _room(picture, 450, 48 + row * 48, name, rooms[name], COLOURS[4])
    y = 48 + len(core) * 48 + 20
    legend = (COLOURS[0], "does I/O"), (COLOURS[2], "pure: no I/O, clock or randomness")
    for colour, words in legend:
        picture.box(20, y - 12, 16, 16, colour, colour)
        picture.text(46, y + 1, words, size=13)
        y += 26
    return picture


def _room(picture: Picture, x: int, y: int, name: str, words: str, colour: str) -> None:
    picture.box(x, y, 390, 40, colour)
    picture.text(x + 12, y + 25, name, style="b", colour=colour)
    plain = re.split(r"[;:]", words.replace("`", ""))[0]
    lines = wrap(plain, 47)
    for row, line in enumerate(lines):
        picture.text(x + 110, y + 32 - 7 * len(lines) + 14 * row, line, size=11)


# -- record and replay


def cassettes() -> Picture:
    """Return how a cassette is recorded and replayed."""
    picture = Picture("Record and replay", 236)
    for row, (head, colour) in enumerate((("pytest --record", COLOURS[5]), ("pytest", COLOURS[2]))):
        y = 20 + row * 108
        recording = row == 0
        picture.text(20, y + 18, head, style="c b", colour=colour)
        picture.box(20, y + 30, 190, 54, colour)
        picture.text(115, y + 62, "your test and client", style="m")
        picture.box(300, y + 30, 230, 54, colour)
        picture.text(415, y + 52, "recorder" if recording else "player", style="m b")
        words = "credentials are left out" if recording else "requests must match"
        picture.text(415, y + 72, words, style="m", size=12)
        picture.box(620, y + 30, 220, 54, colour if recording else LINE)
        target = "the provider" if recording else "no network, no key"
        picture.text(730, y + 62, target, style="m", colour=INK if recording else MUTED)
        picture.arrow(214, y + 57, 296, y + 57)
        if recording:
            picture.arrow(534, y + 57, 616, y + 57)
    picture.arrow(415, 108, 415, 154)
    picture.text(428, 126, "cassettes/openai/hello.json:", style="c", size=12)
    picture.text(428, 142, "requests, chunks, times", size=12)
    return picture


# -- the comparison


def peers() -> Picture:
    """Return the bars of the last column of the comparison's table."""
    rows = list(_measured())
    most = max(cost for _, cost in rows)
    picture = Picture("CPU time of a streamed chunk", 60 + 40 * len(rows))
    head = "CPU time of a streamed chunk, in microseconds (less is better)"
    picture.text(20, 32, head, style="b")
    for row, (name, cost) in enumerate(rows):
        y, colour = 50 + row * 40, COLOURS[2] if row == 0 else COLOURS[0]
        picture.text(20, y + 19, name)
        picture.box(220, y, max(cost / most * 560, 3), 26, colour, colour)
        picture.text(228 + max(cost / most * 560, 3), y + 19, f"{cost:g}", style="b")
    return picture


def _measured() -> Iterator[tuple[str, float]]:
    """Yield the first and the last cell of each row of figures."""
    text = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    for line in re.findall(r"^\| ([\w-]+ [\d.]+) \|.*\| (\d+) \|$", text, re.MULTILINE):
        yield line[0], float(line[1])


PICTURES: Final = {
    "route": route,
    "frames": frames_to_events,
    "timeline": timeline,
    "middleware": middleware,
    "layers": layers,
    "cassettes": cassettes,
    "peers": peers,
}


def files() -> dict[str, str]:
    """Return each picture by its file name."""
    return {f"{name}.svg": draw().svg() for name, draw in PICTURES.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, svg in files().items():
        (FOLDER / name).write_text(svg, "utf-8")
