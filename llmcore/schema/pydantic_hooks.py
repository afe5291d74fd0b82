"""Lets pydantic read and write values, so that FastAPI's endpoints and models can have them.

A class has two hooks, which pydantic calls when it builds a model or an endpoint that names the
class. Pydantic is imported by them alone:

    @app.post("/chat")
    async def chat(messages: list[Message]) -> GenerateResult:
        return await generate("openai:gpt-5.2", messages=messages)

See https://docs.pydantic.dev/latest/concepts/types/#customizing-validation-with-__get_pydantic_core_schema__
"""

from typing import TYPE_CHECKING, Any, TypeVar

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

    from llmcore.schema.codec import from_json, to_json  # it imports the classes

    def read(given: Any) -> Any:
        if isinstance(given, cls):
            return given
        try:
            return from_json(cls, given)
        except InvalidRequestError as error:
            raise ValueError(error.message) from error  # pydantic reports these, with their path

    return core_schema.no_info_plain_validator_function(
        read, serialization=core_schema.plain_serializer_function_ser_schema(to_json)
    )


def _json_schema(cls: type[Any], _schema: object, _handler: object) -> dict[str, Any]:
    return {"type": "object", "title": cls.__name__}
