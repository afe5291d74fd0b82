"""Parts of contents, read from a client and written for one: media, sources, log probabilities.

Sources, read November 2026: https://ai.google.dev/api/caching#Part,
https://ai.google.dev/api/generate-content#GroundingMetadata (indexes of a `Segment` count bytes of
UTF-8 in the text of the response), https://protobuf.dev/programming-guides/json (field names in
camelCase and snake_case, base64 of either alphabet, values of enums by name and by number).

    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0..."}}
    {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}}
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import evolve

from llmcore.fronts.errors import invalid
from llmcore.fronts.reading import is_remote, own_file, read_field
from llmcore.protocols.gemini.names import METADATA_KEY, RESOLUTIONS
from llmcore.protocols.gemini.parts import MediaPart
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    TextPart,
    TokenLogprob,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import File, Source
from llmcore.schema.json import NativeObject, present
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import str_or_empty, str_or_none

# -- names of fields, and of the values of enums


def camel_keys(value: object) -> NativeObject:
    """Return the object *value* with its fields in camelCase; an empty one for anything else.

    Only its own: what a field holds may be the user's, such as arguments and schemas.
    """
    if not isinstance(value, dict):
        return {}
    return {_camel(name): item for name, item in value.items() if item is not None}


def object_in(holder: Mapping[str, Any], name: str, path: str) -> NativeObject:
    """Return the object in a field, with its fields in camelCase; FrontError for anything else."""
    return camel_keys(read_field(holder, name, dict, f"{path}."))


@lru_cache(maxsize=512)
def _camel(name: str) -> str:
    first, *others = name.lstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def enum_name(value: object, names: Sequence[str]) -> object:
    """Return the one of *names* whose number is *value*; anything but such a number unchanged.

    Google's client libraries that are made from protocol buffers, such as `google-generativeai`,
    send numbers over HTTP.
    """
    return names[value] if type(value) is int and 0 <= value < len(names) else value


# -- parts


def read_part(part: NativeObject, diagnostics: Diagnostics, *, native: bool) -> list[ContentPart]:
    """Return a text or a file; nothing, with a Diagnostic, for parts without a neutral form."""
    text = part.get("text")
    if isinstance(text, str):
        # an empty text is one that Gemini takes, and our history would drop
        own = {} if text else {"text": text}
        if (metadata := part.get("partMetadata")) is not None:
            own["partMetadata"] = metadata
        return [TextPart(text, provider_metadata={METADATA_KEY: own} if native and own else {})]
    if is_media(part):
        return [client_media(part, diagnostics.path, native=native)]
    if part.keys() - {"thought", "thoughtSignature"}:
        kind = ", ".join(sorted(part))[:100]
        diagnostics.dropped("unsupported-content", f"the upstream takes no {kind} here")
    return []


# -- media, read


_DETAILS: Final = {f"MEDIA_RESOLUTION_{level}": detail for detail, level in RESOLUTIONS.items()}
_GOOGLE_HOST: Final = "googleapis.com"


def is_media(part: Mapping[str, Any]) -> bool:
    """Return whether *part* is a file: its bytes, or where it is."""
    return "inlineData" in part or "fileData" in part


def kind_of_file(held: NativeObject) -> str:
    """Return the first word of a file's MIME type, such as `image`; empty for one without."""
    return str_or_empty(held.get("mimeType")).partition("/")[0].lower()


def client_media(part: NativeObject, path: str, *, native: bool) -> MediaPart:
    """Return a file of the client's; FrontError for one that Google stores, at other upstreams."""
    media = read_media(part, path, native=native)
    if media.file_id is not None:
        own_file(media.file_id, f"{path}.fileData.fileUri", known=native)
    return media


def read_media(part: NativeObject, path: str, *, native: bool) -> MediaPart:
    """Return a file as an image, audio or a document, by its MIME type.

    For a *native* upstream what only Gemini has a word for is kept; for others a file that Google
    stores is one that they refuse to be named. FrontError for data that is not base64.
    """
    inline, stored = object_in(part, "inlineData", path), object_in(part, "fileData", path)
    held = inline or stored
    for name in ("displayName", "mimeType"):
        read_field(held, name, str, f"{path}.{'inlineData' if inline else 'fileData'}.")
    source: dict[str, Any]
    if inline:
        data = decode_base64(inline.get("data"))
        if data is None:
            raise invalid(f"{path}.inlineData.data is not base64.", f"{path}.inlineData.data")
        source = {"data": data}
    else:
        source = _address(stored, f"{path}.fileData.fileUri", native=native)
    made = _media_part(held, source)
    detail = _DETAILS.get(_level(part.get("mediaResolution")))
    if isinstance(made, ImagePart) and detail is not None:
        made = evolve(made, detail=detail)  # type: ignore[arg-type]
        if camel_keys(part.get("mediaResolution")).keys() <= {"level"}:
            part = {key: item for key, item in part.items() if key != "mediaResolution"}
    if not native:
        return made
    return evolve(made, provider_metadata=_native_fields(part, held))


def _media_part(held: NativeObject, source: dict[str, Any]) -> MediaPart:
    media_type, kind = str_or_none(held.get("mimeType")), kind_of_file(held)
    if kind == "image":
        return ImagePart(**source, media_type=media_type)
    if kind == "audio":
        return AudioPart(**source, media_type=media_type)
    name = str_or_none(held.get("displayName"))
    return DocumentPart(**source, media_type=media_type, name=name)


def _address(stored: NativeObject, path: str, *, native: bool) -> dict[str, Any]:
    uri = str_or_none(stored.get("fileUri"))
    if uri is None:
        raise invalid(f"{path} is missing.", path)
    if is_remote(uri) and (native or not _is_googles(uri)):
        return {"url": uri}
    return {"file_id": uri, "file_owner": None if native else METADATA_KEY}


def _is_googles(uri: str) -> bool:
    """Return whether *uri* is a file that only Google's services can open."""
    place = urlsplit(uri)
    host = place.hostname or ""
    return place.scheme == "gs" or (
        host.endswith(_GOOGLE_HOST) and "/files/" in place.path and host.startswith("generative")
    )


def sets_detail(part: NativeObject) -> bool:
    """Return whether the resolution of a part is one of the details that images have elsewhere."""
    held = camel_keys(part.get("inlineData") or part.get("fileData"))
    return kind_of_file(held) == "image" and _level(part.get("mediaResolution")) in _DETAILS


def _level(value: object) -> str:
    return str(camel_keys(value).get("level") if isinstance(value, dict) else value)


_OF_MEDIA: Final = frozenset({"inlineData", "fileData", "thought", "thoughtSignature"})


def _native_fields(part: NativeObject, held: NativeObject) -> dict[str, Any]:
    """Return the further fields of a file: beside it, such as `videoMetadata`, and inside it.

    Data in the URL-safe alphabet is one of them: it is sent on as the client wrote it.
    """
    native = {name: item for name, item in part.items() if name not in _OF_MEDIA}
    kind = "inlineData" if "inlineData" in part else "fileData"
    data = str(held.get("data"))
    plain = ("data",) if "-" not in data and "_" not in data else ()
    known = ("mimeType", "fileUri", *plain)
    more = {name: item for name, item in held.items() if name not in known}
    native |= {kind: more} if more else {}
    return {METADATA_KEY: native} if native else {}


# -- media, written


def file_part(event: File, *, native: bool = False) -> NativeObject | None:
    """Return a file that the model made; None for one that has neither bytes nor an address.

    A *native* upstream's address may be one that only Google's services can open.
    """
    kind = {"mimeType": event.media_type} if event.media_type else {}
    if event.data is not None:
        data = base64.b64encode(event.data).decode()
        return {"inlineData": {"mimeType": "application/octet-stream", **kind, "data": data}}
    if event.url is not None and (native or is_remote(event.url)):
        return {"fileData": {**kind, "fileUri": event.url}}
    return None


# -- log probabilities


def logprobs_result(tokens: Iterable[TokenLogprob]) -> NativeObject:
    """Return `logprobsResult`: each token, and the likeliest ones in its place."""
    known = list(tokens)
    tops = [{"candidates": [_token(other) for other in token.top]} for token in known]
    chosen = [_token(token) for token in known]
    if not any(token.top for token in known):
        return {"chosenCandidates": chosen}
    return {"chosenCandidates": chosen, "topCandidates": tops}


def _token(token: TokenLogprob) -> NativeObject:
    numbered = {} if token.id is None else {"tokenId": token.id}
    return {"token": token.token, **numbered, "logProbability": token.logprob}


# -- grounding


class Grounding:
    """The searches and sources of a response, and which stretch of text cites which."""

    def __init__(self) -> None:
        self._queries: list[str] = []
        self._chunks: dict[str, NativeObject] = {}
        self._supports: list[tuple[int, int | None, int | None, str]] = []
        self._texts: list[str] = []

    def search(self, queries: Sequence[str]) -> None:
        """Add the queries of a call that searched the web."""
        self._queries += [query for query in queries if query not in self._queries]

    def source(self, event: Source) -> None:
        """Add a source of the response."""
        cited = Citation(
            url=event.url,
            title=event.title,
            document_id=None if event.url else event.title or event.id,
        )
        self._chunk(cited)

    def text(self, text: str, citations: Sequence[Citation], diagnostics: Diagnostics) -> None:
        """Add the next text of the response, and what it cites."""
        index = len(self._texts)
        self._texts.append(text)
        for citation in citations:
            key = self._chunk(citation)
            if key is None:
                why = "a citation that names neither a page nor a document has no form here"
                diagnostics.at("candidates[0].groundingMetadata").dropped("citation-dropped", why)
                continue
            self._supports.append((index, citation.start_index, citation.end_index, key))

    def _chunk(self, citation: Citation) -> str | None:
        """Return the key of the chunk that *citation* names, a new one if it is the first."""
        key = citation.url or citation.document_id or citation.title
        if key is not None and key not in self._chunks:
            self._chunks[key] = _chunk(citation)
        return key

    def metadata(self) -> NativeObject:
        """Return `groundingMetadata`; empty for a response that names no source."""
        metadata: NativeObject = {}
        if self._queries:
            metadata["webSearchQueries"] = self._queries
        if self._chunks:
            metadata["groundingChunks"] = list(self._chunks.values())
        if self._supports:
            places = {key: number for number, key in enumerate(self._chunks)}
            metadata["groundingSupports"] = [
                {
                    "segment": self._segment(index, start, end),
                    "groundingChunkIndices": [places[key]],
                }
                for index, start, end, key in self._supports
            ]
        return metadata

    def _segment(self, index: int, start: int | None, end: int | None) -> NativeObject:
        """Return the stretch of a citation; an empty one for the whole of the last text."""
        text = self._texts[index]
        last = index == len(self._texts) - 1
        if start is None and end is None and last:
            return {}
        first, stop = start or 0, len(text) if end is None else end
        before = sum(len(_bytes(earlier)) for earlier in self._texts[:index])
        return {
            "startIndex": before + len(_bytes(text[:first])),
            "endIndex": before + len(_bytes(text[:stop])),
            "text": text[first:stop],
        }


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _chunk(citation: Citation) -> NativeObject:
    if citation.url is not None:
        return {
            "web": {"uri": citation.url, **({"title": citation.title} if citation.title else {})}
        }
    held = {
        "documentName": citation.document_id,
        "title": citation.title,
        "text": citation.cited_text,
    }
    return {"retrievedContext": present(held)}
