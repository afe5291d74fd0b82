"""Images, over the APIs that make them: OpenAI's and those like it, and Gemini's models.

Documents, read November 2026: https://developers.openai.com/api/reference/resources/images (and
https://learn.microsoft.com/azure/foundry/openai/how-to/dall-e for Azure, which has the same),
https://docs.x.ai/developers/model-capabilities/images/generation and .../multi-image-editing,
https://pypi.org/project/together/3.1.1/ (`types/image_generate_params`),
https://openrouter.ai/blog/tutorials/image-generation/,
https://ai.google.dev/gemini-api/docs/image-generation. A response of all but Gemini's:

    {"created": 1765313051, "data": [{"b64_json": "iVBO...", "revised_prompt": "A red fox"}],
     "output_format": "png", "usage": {"input_tokens": 9, "output_tokens": 272}}
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from llmcore.protocols import unary
from llmcore.protocols.media import data_url, raw_data, remote_url, sniffed
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.schema.content import ImagePart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.files import FileUpload
from llmcore.schema.images import ImageRequest, ImageResponse
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

ImageProtocol: TypeAlias = UnaryProtocol[ImageRequest, ImageResponse]
_Names: TypeAlias = Mapping[str, str | None]

_ALIKE: Final = ("n", "size", "aspect_ratio", "quality", "background", "output_format")
_OPENAI: Final[_Names] = {name: name for name in _ALIKE} | {"aspect_ratio": None}
_OPENROUTER: Final[_Names] = {name: name for name in _ALIKE if name != "size"} | {"mask": None}
_XAI: Final[_Names] = {
    "n": "n",
    "aspect_ratio": "aspect_ratio",
    "quality": "quality",
    "background": None,
    "output_format": None,
}
_TOGETHER: Final[_Names] = {
    "n": "n",
    "aspect_ratio": None,
    "quality": None,
    "background": None,
    "output_format": "output_format",
    "mask": None,
}
_GEMINI: Final[_Names] = {"quality": None, "background": None, "mask": None}

_PIXELS: Final = re.compile(r"(\d{1,5})x(\d{1,5})")


# -- requests


def _build_openai(request: ImageRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    body = _model_and_prompt(request) | unary.native_settings(request, _OPENAI, diagnostics)
    if not request.images:
        return unary.posted(request, "/images/generations", body, diagnostics)
    name = "image" if len(request.images) == 1 else "image[]"
    files = [(name, _upload(image)) for image in request.images]
    if request.mask is not None:
        files.append(("mask", _upload(request.mask)))
    return unary.posted_form(request, "/images/edits", body, diagnostics, files)


def _build_xai(request: ImageRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    body = _model_and_prompt(request) | unary.native_settings(request, _XAI, diagnostics)
    body |= _resolution(request, "resolution", str.lower, diagnostics) | {
        "response_format": "b64_json"
    }
    images: list[JsonValue] = [
        {"type": "image_url", "url": _url(image)} for image in request.images
    ]
    if not images:
        return unary.posted(request, "/images/generations", body, diagnostics)
    body |= {"image": images[0]} if len(images) == 1 else {"images": images}
    if request.mask is not None:
        body["mask"] = {"type": "image_url", "url": _url(request.mask)}
    return unary.posted(request, "/images/edits", body, diagnostics)


def _build_together(request: ImageRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    body = (
        _model_and_prompt(request)
        | unary.native_settings(request, _TOGETHER, diagnostics)
        | {"response_format": "base64"}
    )
    pixels = _PIXELS.fullmatch(request.size or "")
    if pixels:
        body |= {"width": int(pixels[1]), "height": int(pixels[2])}
    elif request.size is not None:
        diagnostics.at("size").unsupported("the API takes sizes such as 1024x768 only")
    urls = [_url(image) for image in request.images]
    if urls:
        body |= {"image_url": urls[0]} if len(urls) == 1 else {"reference_images": [*urls]}
    return unary.posted(request, "/images/generations", body, diagnostics)


def _build_openrouter(request: ImageRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    body = _model_and_prompt(request) | unary.native_settings(request, _OPENROUTER, diagnostics)
    if request.size is not None:
        body["size" if _PIXELS.fullmatch(request.size) else "resolution"] = request.size
    if request.images:
        body["input_references"] = [
            {"type": "image_url", "image_url": {"url": _url(image)}} for image in request.images
        ]
    return unary.posted(request, "/images", body, diagnostics)


def _build_gemini(request: ImageRequest, *, below: str) -> NativeRequest:
    diagnostics = Diagnostics()
    unary.native_settings(request, _GEMINI, diagnostics)
    if request.n not in (None, 1):
        diagnostics.at("n").unsupported("the API makes one image for each request")
    image = unary.native_settings(request, {"aspect_ratio": "aspectRatio"}, diagnostics)
    image |= _resolution(request, "imageSize", str.upper, diagnostics)
    if request.output_format is not None and below:
        image["imageOutputOptions"] = {"mimeType": f"image/{request.output_format}"}
    elif request.output_format is not None:
        unary.native_settings(request, {"output_format": None}, diagnostics)
    config: dict[str, JsonValue] = {"responseModalities": ["IMAGE"]}
    if image:
        config["imageConfig"] = image
    body = unary.content_body(request.prompt, request.images, config)
    path = unary.google_path(request, "generateContent", below)
    return unary.posted(request, path, body, diagnostics)


def _model_and_prompt(request: ImageRequest) -> dict[str, JsonValue]:
    return {"model": request.model_id, "prompt": request.prompt}


def _resolution(
    request: ImageRequest, name: str, write: Callable[[str], str], diagnostics: Diagnostics
) -> dict[str, JsonValue]:
    """Return a size such as `2K` as the field *name*; a size in pixels is dropped."""
    if request.size is None:
        return {}
    if _PIXELS.fullmatch(request.size):
        why = "the API has no sizes in pixels: set aspect_ratio, and a size such as 2K"
        diagnostics.at("size").unsupported(why)
        return {}
    return {name: write(request.size)}


def _upload(image: ImagePart) -> FileUpload:
    typed_bytes = raw_data(image)
    if typed_bytes is None:
        raise InvalidRequestError("the API takes no URLs and no file ids of images: send the bytes")
    media_type, data = typed_bytes
    name = f"image.{media_type.rpartition('/')[2]}"
    return FileUpload(data=data, filename=name, media_type=media_type)


def _url(image: ImagePart) -> str:
    url = remote_url(image) or data_url(image)
    if url is None:
        raise InvalidRequestError("the API takes no file ids of images: send the bytes or a URL")
    return url


# -- responses


def read_images(response: NativeResponse, request: ImageRequest) -> ImageResponse:
    """Return the images of a response of any of these APIs but Gemini's.

    Raises StreamError for a response without any.
    """
    document = object_or_empty(response.document)
    entries = objects(document.get("data"))
    stated = str_or_none(document.get("output_format"))
    default = None if stated is None else _MEDIA_TYPES.get(stated, f"image/{stated}")
    images = [image for entry in entries if (image := _image(entry, default)) is not None]
    if not images:
        raise StreamError("the response has no image", retryable=False)
    return ImageResponse(
        images=tuple(images),
        revised_prompt=str_or_none(entries[0].get("revised_prompt")),
        **unary.response_fields(response, request, unary.usage_of(response)),
    )


_MEDIA_TYPES: Final = {"svg": "image/svg+xml", "jpg": "image/jpeg"}


def _image(entry: JsonObject, default: str | None) -> ImagePart | None:
    """Return the image of *entry*; URLs are of the web, since others would name local files."""
    text = str_or_none(entry.get("b64_json")) or ""
    head, comma, rest = text.partition(",")  # xAI sends a data: URL
    data = decode_base64(rest if comma else head)
    if data:
        stated = str_or_none(entry.get("media_type")) or default
        return ImagePart(data=data, media_type=sniffed(data) or stated)
    url = str_or_none(entry.get("url")) or ""
    if url[:5].lower() == "data:":
        return ImagePart(url=url)
    return ImagePart(url=url) if url.startswith(("https://", "http://")) else None


def _read_gemini(response: NativeResponse, request: ImageRequest) -> ImageResponse:
    typed_images = unary.read_media(response, "image")
    images = tuple(ImagePart(data=data, media_type=media_type) for media_type, data in typed_images)
    return ImageResponse(
        images=images, **unary.response_fields(response, request, unary.google_usage(response))
    )


# -- the APIs

OPENAI: Final[ImageProtocol] = UnaryProtocol(
    id="openai-images", build=_build_openai, read=read_images
)
"""OpenAI's images, also for Azure and for servers that imitate the API."""
XAI: Final[ImageProtocol] = UnaryProtocol(id="xai-images", build=_build_xai, read=read_images)
TOGETHER: Final[ImageProtocol] = UnaryProtocol(
    id="together-images", build=_build_together, read=read_images
)
OPENROUTER: Final[ImageProtocol] = UnaryProtocol(
    id="openrouter-images", build=_build_openrouter, read=read_images
)
GEMINI: Final[ImageProtocol] = UnaryProtocol(
    id="gemini-images", build=partial(_build_gemini, below=""), read=_read_gemini
)
VERTEX: Final[ImageProtocol] = UnaryProtocol(
    id="vertex-images", build=partial(_build_gemini, below=unary.VERTEX_MODELS), read=_read_gemini
)
