"""Images that models make: the request and the response."""

from collections.abc import Iterable

from attrs import field

from llmcore.schema.content import ImagePart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.unary import UnaryRequest, UnaryResponse, check_count, check_text


def _images(given: object) -> tuple[ImagePart, ...]:
    if isinstance(given, Iterable) and not isinstance(given, _SINGLE):
        return tuple(map(ImagePart.of, given))
    return (ImagePart.of(given),)


_SINGLE = (str, bytes, bytearray, memoryview)


def _image_or_none(given: object) -> ImagePart | None:
    return None if given is None else ImagePart.of(given)


def _check_mask(request: "ImageRequest", _attribute: object, mask: ImagePart | None) -> None:
    if mask is not None and not request.images:
        raise InvalidRequestError("a mask needs the image that it is of: set images=[...] too")


@with_call_hints()
@frozen(kw_only=True)
class ImageRequest(UnaryRequest):
    """An image to be made from words, or from other images. InvalidRequestError without words."""

    prompt: str = field(validator=check_text)
    """The description of the image, or of the change."""
    images: tuple[ImagePart, ...] = field(default=(), converter=_images)
    """The images to edit or to go by: parts, paths, URLs or bytes."""
    mask: ImagePart | None = field(default=None, converter=_image_or_none, validator=_check_mask)
    """An image whose transparent areas are those of the first image that may change."""
    n: int | None = field(default=None, validator=check_count)
    """How many images are made; None for one."""
    size: str | None = None
    """`1536x1024` in pixels, or a step such as `2K`, by what the model takes."""
    aspect_ratio: str | None = None
    """Such as `16:9`."""
    quality: str | None = None
    """The provider's own word, such as `low` or `high`."""
    background: str | None = None
    """`transparent`, `opaque` or `auto`."""
    output_format: str | None = None
    """`png`, `jpeg` or `webp`."""


@for_pydantic
@frozen(kw_only=True)
class ImageResponse(UnaryResponse):
    """The images that a model made."""

    images: tuple[ImagePart, ...]
    """At least one, with `data` or, where the provider stores it for a while, with `url`."""
    revised_prompt: str | None = None
    """The words that the first image was made from, if the provider changed them."""

    @property
    def image(self) -> ImagePart:
        """The first image."""
        return self.images[0]
