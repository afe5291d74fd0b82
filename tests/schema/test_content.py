"""Content parts."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from attrs import evolve
from hypothesis import given

from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    PartInput,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
    is_local,
    parts_of,
    text_of,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import JsonValue, parse_arguments
from llmcore.schema.media_sources import decode_base64
from tests.support.strategies.values import content_parts, json_values

MEDIA = (ImagePart, AudioPart, DocumentPart)
SOURCES: dict[str, Any] = {
    "url": "https://acme.test/a.png",
    "data": b"\x89PNG",
    "path": "a.png",
    "file_id": "file_1",
}

# -- texts


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("text", lambda: TextPart(cast("str", 5))),
        ("text", lambda: ReasoningPart(cast("str", 5))),
        ("text", lambda: RefusalPart(cast("str", None))),
        ("id", lambda: ToolCallPart(cast("str", None), "f")),
        ("name", lambda: ToolCallPart("c", cast("str", 5))),
        ("tool_call_id", lambda: ToolResultPart(cast("str", ToolResultPart("c")), "done")),
        ("name", lambda: ToolResultPart("c", "done", name=cast("str", 5))),
    ],
)
def test_fields_that_are_not_text_are_refused_by_name(
    field: str, make: Callable[[], ContentPart]
) -> None:
    with pytest.raises(InvalidRequestError, match=f"^{field} must be text, not"):
        make()


# -- media


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize("source", SOURCES)
def test_media_come_from_one_place(kind: type[ImagePart], source: str) -> None:
    """Each source by itself is enough."""
    part = kind(**{source: SOURCES[source]})

    assert {name: getattr(part, name) for name in SOURCES} == {
        **dict.fromkeys(SOURCES),
        source: SOURCES[source],
    }


@pytest.mark.parametrize("kind", MEDIA)
def test_media_from_nowhere_are_refused(kind: type[ImagePart]) -> None:
    """A picture without a picture cannot be sent."""
    with pytest.raises(InvalidRequestError, match=f"{kind.__name__} needs exactly one .* got none"):
        kind()


@pytest.mark.parametrize("kind", MEDIA)
@pytest.mark.parametrize(
    "sources", [("url", "data"), ("url", "path"), ("data", "file_id"), tuple(SOURCES)]
)
def test_media_from_two_places_are_refused(kind: type[ImagePart], sources: tuple[str, ...]) -> None:
    """Nobody could tell which of two pictures is meant."""
    with pytest.raises(InvalidRequestError, match=f"got {' and '.join(sources)}"):
        kind(**{name: SOURCES[name] for name in sources})


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("/tmp/a.png", True),
        ("./a.png", True),
        ("../a.png", True),
        ("~/a.png", True),
        ("C:\\pictures\\a.png", True),
        ("C:/pictures/a.png", True),
        (".\\a.png", True),
        ("..\\a.png", True),
        ("\\\\server\\a.png", True),
        ("//cdn.acme.test/a.png", False),
        ("https://acme.test/a.png", False),
        ("http://acme.test/../a.png", False),
        ("data:image/png;base64,AAAA", False),
        ("gs://bucket/a.png", False),
        ("a.png", False),
    ],
)
def test_a_url_that_is_a_path_is_taken_as_one(url: str, local: bool) -> None:
    """People write paths where urls are wanted."""
    part = ImagePart(url=url)

    assert is_local(url) is local
    assert (part.path, part.url) == ((url, None) if local else (None, url))


def test_a_local_url_beside_data_is_still_two_sources() -> None:
    """Taking a url as a path does not hide a contradiction."""
    with pytest.raises(InvalidRequestError, match="got data and path"):
        ImagePart(url="./a.png", data=b"x")


def test_repr_of_media_states_the_number_of_bytes() -> None:
    """A log line never holds a whole picture."""
    assert "<4 bytes>" in repr(ImagePart(data=b"\x89PNG"))
    assert "PNG" not in repr(ImagePart(data=b"\x89PNG"))


# -- what parts are built from


@given(json_values())
def test_parts_keep_a_copy_of_json(value: JsonValue) -> None:
    """Later changes of the data do not change the part."""
    mutable: dict[str, Any] = {"acme": {"value": value}}
    parts: list[ContentPart] = [
        ProviderPart("acme", mutable),
        ToolCallPart("c1", "f", mutable),
        ToolResultPart("c1", mutable),
        TextPart("x", provider_metadata=mutable),
        TextPart("x", citations=(Citation(provider_metadata=mutable),)),
        ReasoningPart("x", provider_metadata=mutable),
        ImagePart(url="https://acme.test", provider_metadata=mutable),
    ]
    before = [to_json(part) for part in parts]

    mutable["acme"]["value"] = "changed"
    mutable["acme"]["more"] = 1
    mutable["umbrella"] = {}

    assert [to_json(part) for part in parts] == before


@pytest.mark.parametrize("bad", [float("nan"), {1: 2}, object(), b"x"])
def test_parts_refuse_values_that_json_lacks(bad: Any) -> None:
    """The error comes where the mistake is made, not when the request is sent."""
    for build in (
        lambda: ProviderPart("acme", bad),
        lambda: ToolCallPart("c1", "f", bad),
        lambda: ToolResultPart("c1", bad),
        lambda: TextPart("x", provider_metadata={"acme": {"value": bad}}),
    ):
        with pytest.raises(InvalidRequestError):
            build()


def test_data_of_another_type_than_bytes_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="data of ImagePart must be bytes; got "):
        ImagePart(data=Path("photo.png"))  # type: ignore[arg-type]


# -- tool calls


@pytest.mark.parametrize(
    ("part", "valid"),
    [
        (ToolCallPart("c1", "f", {"q": 1}), True),
        (ToolCallPart("c1", "f"), True),
        (ToolCallPart("c1", "f", '{"q": '), False),
        (ToolCallPart("c1", "f", [1]), False),
        (ToolCallPart("c1", "f", "SELECT 1", kind="custom"), True),
        (ToolCallPart("c1", "f", {"q": 1}, kind="custom"), False),
    ],
)
def test_a_call_knows_whether_its_arguments_fit_its_kind(part: ToolCallPart, valid: bool) -> None:
    """A function takes an object, a custom tool one string."""
    assert part.is_valid is valid


# -- tool results


@pytest.mark.parametrize(
    ("given_content", "kept"),
    [
        ("text", "text"),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ([1, 2], [1, 2]),
        ([], []),
        ((), ()),
        (None, None),
        (TextPart("x"), (TextPart("x"),)),
        (["see", ImagePart(path="a.png")], (TextPart("see"), ImagePart(path="a.png"))),
    ],
)
def test_a_result_is_text_json_or_parts(given_content: Any, kept: object) -> None:
    """Parts are a tuple, everything else is plain JSON; the two never mix."""
    content = ToolResultPart("c1", given_content).content

    assert content == kept
    assert type(content) is type(kept)


@pytest.mark.parametrize("other", [5, {"a": 1}, ToolCallPart("c1", "f"), None])
def test_a_result_does_not_mix_parts_and_json(other: Any) -> None:
    """Values beside parts must be parts, or text."""
    with pytest.raises(InvalidRequestError, match=f"parts and {shown_kind(other)}"):
        ToolResultPart("c1", [TextPart("x"), other])


# -- lists of parts


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ([], ()),
        (["a", TextPart("b")], (TextPart("a"), TextPart("b"))),
        ([["a", ["b", RefusalPart("c")]], ()], (TextPart("a"), TextPart("b"), RefusalPart("c"))),
    ],
)
def test_text_parts_and_lists_are_flattened_to_one_tuple(
    values: list[PartInput], parts: tuple[ContentPart, ...]
) -> None:
    """Text, parts and lists of them make one tuple."""
    assert parts_of(values) == parts


@pytest.mark.parametrize("bad", [5, None, b"bytes", {"type": "text", "text": "x"}, Citation()])
def test_what_is_not_a_part_is_refused(bad: Any) -> None:
    """A dict or bytes where a part is wanted is a mistake to tell at once."""
    with pytest.raises(InvalidRequestError, match=f"got {shown_kind(bad)}"):
        parts_of(["text", [bad]])


def test_text_is_joined_with_nothing_between() -> None:
    """Other parts have no say in it."""
    parts = (TextPart("a"), ReasoningPart("hm"), TextPart(" b"), RefusalPart("no"))

    assert text_of(parts) == "a b"


# -- cache marks


@given(content_parts())
def test_a_mark_is_all_that_a_cached_part_gains(part: ContentPart) -> None:
    """The part stays what it was; the mark says for how long."""
    marked = cached(part, ttl="1h")

    assert cache_ttl(marked) == "1h"
    assert cache_ttl(cached(part)) == "5m"
    assert cached("Hi") == cached(TextPart("Hi"))
    assert type(marked) is type(part)
    assert dict(marked.provider_metadata) == {
        **part.provider_metadata,
        "cache": {"ttl": "1h"},
    }


@pytest.mark.parametrize(
    ("metadata", "ttl"),
    [
        ({}, None),
        ({"acme": {"cache_control": {"type": "ephemeral"}}}, "5m"),
        ({"acme": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}}, "1h"),
        ({"acme": {"cache_control": "ephemeral"}}, "5m"),
        ({"acme": {"cache_control": None}, "umbrella": {"x": 1}}, None),
        ({"cache": {"ttl": "5m"}, "acme": {"cache_control": {"ttl": "1h"}}}, "5m"),
    ],
)
def test_native_marks_count_too(metadata: Any, ttl: str | None) -> None:
    """A prompt written for one provider's API keeps its marks; our own mark goes first."""
    assert cache_ttl(TextPart("x", provider_metadata=metadata)) == ttl


def test_what_has_no_metadata_is_not_marked() -> None:
    """Tools and strings can be asked, too."""
    assert cache_ttl("text") is None


@pytest.mark.parametrize("arguments", [None, "", " \n", {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    """However a server or a stored conversation writes that a call has none."""
    assert ToolCallPart("call_1", "look", arguments).arguments == {}
    assert ToolCallPart("call_1", "write", "", kind="custom").arguments == ""


# -- the text that arguments came as

WRITTEN = '{"city" : "Paris",\n "days": 1.50}'


def test_the_text_of_arguments_is_kept_beside_them() -> None:
    """Also through JSON; it takes no part in comparisons."""
    call = ToolCallPart("c1", "look", {"city": "Paris", "days": 1.5}, raw_arguments=WRITTEN)

    assert call.arguments_text == WRITTEN
    assert from_json(ToolCallPart, to_json(call)).raw_arguments == WRITTEN
    assert call == ToolCallPart("c1", "look", {"city": "Paris", "days": 1.5})


@pytest.mark.parametrize("arguments", [{"city": "Rome"}, {"n": True}, {"n": 1.0}, {}])
def test_text_that_does_not_spell_the_arguments_is_not_kept(arguments: Any) -> None:
    """A handler that repairs arguments changes them: the old text would contradict them."""
    call = ToolCallPart("c1", "look", {"n": 1}, raw_arguments='{"n": 1 }')

    changed = evolve(call, arguments=arguments)

    assert call.raw_arguments == '{"n": 1 }'
    assert changed.raw_arguments is None
    assert parse_arguments(changed.arguments_text)[0] == arguments


@pytest.mark.parametrize(
    ("raw", "arguments", "text"),
    [
        ("", {}, "{}"),
        ("null", {}, "{}"),
        ('"{\\"a\\": 1}"', {"a": 1}, '{"a":1}'),
        ("{broken", "{broken", "{broken"),
        (' {"a" : 1}', {"a": 1}, ' {"a" : 1}'),
    ],
)
def test_only_the_text_of_an_object_is_sent_as_it_came(raw: str, arguments: Any, text: str) -> None:
    """Servers refuse `null`, nothing, and objects that were encoded twice."""
    call = ToolCallPart("c1", "look", arguments, raw_arguments=raw)

    assert call.raw_arguments == raw
    assert call.arguments_text == text


def test_content_that_contains_itself_is_refused() -> None:
    """Flattening a list within itself would never end."""
    content: list[Any] = []
    content.append(content)

    with pytest.raises(InvalidRequestError, match="nested more than"):
        parts_of(content)


class _Figure:
    """Writes itself as matplotlib's figures do."""

    def savefig(self, file: Any, *, format: str) -> None:
        file.write(b"\x89PNG " + format.encode())
        file.flush()


class _Picture:
    """Shows itself in notebooks as pictures of PIL do."""

    def _repr_png_(self) -> bytes:
        return b"\x89PNG picture"


class _Saved:
    """Saves itself as older pictures of PIL do."""

    def save(self, file: Any, *, format: str) -> None:
        file.write(b"\x89")
        file.write(format.encode())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("photo.png", ImagePart(path="photo.png")),
        (Path("a/photo.png"), ImagePart(path=str(Path("a/photo.png")))),
        ("https://h/a.png", ImagePart(url="https://h/a.png")),
        ("data:image/png;base64,AA==", ImagePart(url="data:image/png;base64,AA==")),
        ("gs://bucket/a.png", ImagePart(url="gs://bucket/a.png")),
        ("C:\\images\\a.png", ImagePart(path="C:\\images\\a.png")),
        (b"\x89PNG", ImagePart(data=b"\x89PNG")),
        (bytearray(b"\x89PNG"), ImagePart(data=b"\x89PNG")),
        (ImagePart(path="x"), ImagePart(path="x")),
        (_Figure(), ImagePart(data=b"\x89PNG png", media_type="image/png")),
        (_Picture(), ImagePart(data=b"\x89PNG picture", media_type="image/png")),
        (_Saved(), ImagePart(data=b"\x89PNG", media_type="image/png")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_image_is_made_of_what_programs_have(source: object, expected: ImagePart) -> None:
    """Nothing is read or downloaded by it."""
    assert ImagePart.of(source) == expected


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (5, "takes a path, a URL, bytes, a PIL image or a matplotlib figure; got an int"),
        ("", "the text is empty: give a path"),
        (io.BytesIO(b"\x89PNG"), "an open file: give its path, or its bytes, file.read()"),
    ],
)
def test_an_image_of_something_else_is_refused_with_what_to_give(
    source: object, error: str
) -> None:
    with pytest.raises(InvalidRequestError, match=error):
        ImagePart.of(source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+/8=", b"\xfb\xff"),
        ("-_8", b"\xfb\xff"),
        ("QUJD", b"ABC"),
        ("QUJD==", b"ABC"),
        ("QU\r\nJD\n", b"ABC"),
        ("", b""),
        ("QUJDR", None),
        ("Q=UJD", None),
        ("what?", None),
        (5, None),
    ],
)
def test_base64_is_decoded_alike_by_every_python(text: object, expected: bytes | None) -> None:
    assert decode_base64(text) == expected
