"""Lets pydantic read and write values, so that FastAPI's endpoints and models can have them.

What is read may come from other people's machines, so it cannot name files of this one.

A class has two hooks, which pydantic calls when it builds a model or an endpoint that names the
class. Pydantic is imported by them alone:

    @app.post("/chat")
    async def chat(messages: list[Message]) -> GenerateResult:
        return await generate("openai:gpt-5.2", messages=messages)

See https://docs.pydantic.dev/latest/concepts/types/#customizing-validation-with-__get_pydantic_core_schema__
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import fields, has

from llmcore.schema.errors import InvalidRequestError

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_T = TypeVar("_T")


def for_pydantic(cls: type[_T]) -> type[_T]:
    """Have pydantic take values of *cls* and their JSON, and write them as `to_json` does."""
    hooks: dict[str, Any] = {
        "__get_pydantic_core_schema__": _core_schema,
        "__get_pydantic_json_schema__": _json_schema,
    }
    for name, hook in hooks.items():
        setattr(cls, name, classmethod(hook))
    return cls


def _core_schema(cls: type[Any], _source: object, _handler: object) -> "CoreSchema":
    from pydantic_core import core_schema

    from llmcore.schema.codec import to_json  # it imports the classes

    def read(given: Any) -> Any:
        if isinstance(given, cls):
            return given
        try:
            value = _read(cls, given)
        except InvalidRequestError as error:
            raise ValueError(error.message) from error  # pydantic reports these, with their path
        if _has_path(value):
            raise ValueError("the JSON names a local file: give its content, or a URL")
        return value

    return core_schema.no_info_plain_validator_function(
        read, serialization=core_schema.plain_serializer_function_ser_schema(to_json)
    )


def _read(cls: type[Any], given: Any) -> Any:
    """Return the value of *cls*; messages may be dicts in the form of Chat Completions, too."""
    from llmcore.schema.codec import from_json
    from llmcore.schema.messages import Message, as_message

    try:
        return from_json(cls, given)
    except InvalidRequestError as error:
        if cls is not Message or not isinstance(given, Mapping):
            raise
        try:
            return as_message(given)
        except InvalidRequestError:
            raise error from None


def _has_path(value: object) -> bool:
    """Return whether a part of *value* is a local file, which JSON from elsewhere must not read."""
    from llmcore.schema.content import AudioPart, DocumentPart, ImagePart

    if isinstance(value, ImagePart | AudioPart | DocumentPart):
        return value.path is not None
    if isinstance(value, Mapping):
        return any(map(_has_path, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_path, value))
    kind = type(value)
    return has(kind) and any(_has_path(getattr(value, item.name)) for item in fields(kind))


def _json_schema(cls: type[Any], _schema: object, _handler: object) -> dict[str, Any]:
    return {"type": "object", "title": cls.__name__}
