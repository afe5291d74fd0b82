"""Validators of settings: the errors state what to pass instead."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import Attribute

from llmcore.foreign_names import hint_table
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.hints import hint_for, shown_kind
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.tracebacks import wrong_call

Check: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]


def is_a(*kinds: type, instead: str) -> Check:
    """Return a check that a setting is one of *kinds*, or None; *instead* describes them."""

    def check(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
        if value is not None and not isinstance(value, kinds):
            raise InvalidRequestError(
                f"{attribute.name} must be {instead}, not {shown_kind(value)}"
            )

    return check


def is_a_model(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
    """Raise InvalidRequestError unless *value* is a model, a model's id, or None."""
    if isinstance(value, str) and not value.strip():  # such as a variable that is not set
        raise InvalidRequestError(
            f"{attribute.name} is empty: give a model, such as 'openai:gpt-5.2', or None for the "
            "newest of the default provider"
        )
    if value is None or isinstance(value, Model | str):
        return
    name = getattr(value, "__name__", type(value).__name__)
    of_provider = getattr(value, "__self__", None)
    if callable(getattr(of_provider, "model", None)):  # OpenAI(...).responses
        raise InvalidRequestError(
            f"{attribute.name} is the method {name} of {type(of_provider).__name__}: call it with "
            f"the model's id, such as {type(of_provider).__name__}(...).{name}('ID')"
        )
    if callable(getattr(value, "model", None)):
        raise InvalidRequestError(
            f"{attribute.name} is the provider {name}: give one of its models, "
            f"such as {name}(...).model('ID')"
        )
    if isinstance(value, LLMRequest):
        raise InvalidRequestError(f"{attribute.name} is a request: give it by name, request=...")
    has_one = isinstance(getattr(value, "model", None), Model)
    hint = f": give its model, {name}(...).model" if has_one else ""
    raise InvalidRequestError(
        f"{attribute.name} must be a Model or a model's id, not {shown_kind(value)}{hint}"
    )


def is_function(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
    """Raise InvalidRequestError for a value that is not callable, and for a class."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise InvalidRequestError(f"{attribute.name} must be a function, not {shown_kind(value)}")


def are_functions(_plan: object, attribute: "Attribute[Any]", values: tuple[object, ...]) -> None:
    """Raise InvalidRequestError if an item is not callable."""
    for value in values:
        is_function(_plan, attribute, value)


def is_count(_plan: object, attribute: "Attribute[Any]", value: object) -> None:
    """Raise InvalidRequestError unless *value* is an integer of at least 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidRequestError(
            f"{attribute.name} must be an integer of at least 0, not {value!r}"
        )


def check_timeout(given: object) -> None:
    """Raise InvalidRequestError unless *given* is a number, Timeouts or None."""
    if given is not None and not isinstance(given, int | float | Timeouts):
        raise InvalidRequestError(
            f"timeout must be seconds or Timeouts(total=...), not {shown_kind(given)}"
        )


INSTEAD_IN_CALLS: Final = hint_table(
    """
    num_retries max_attempts retry retries -> max_retries
    timeouts request_timeout -> timeout
    api_key base_url api_base organization
        -> configure the provider, such as OpenAI(api_key=..., base_url=...).model('ID')
    http_client proxies proxy verify ssl_verify
        -> give it to the client: Client(http=HttpOptions(...))
    """
)
"""The names that settings of all calls have in other libraries, with what to write instead."""


def refuse_unknown(
    function: str,
    given: Iterable[str],
    known: Sequence[str],
    instead: Mapping[str, str],
    *,
    otherwise: str = "",
) -> None:
    """Raise TypeError for the first of *given* that *function* does not have as a setting.

    *instead* has the names of other libraries, with the setting or what to do instead; *otherwise*
    is what to do about a name that is neither there nor near a setting.
    """
    unknown = next((name for name in given if name not in known), None)
    if unknown is None:
        return
    hint = hint_for(unknown, known, instead) or otherwise
    if not hint and len(known) <= _FEW:
        hint = f"its settings are {', '.join(known)}"
    message = f"{function}() got an unexpected keyword argument {unknown!r}"
    raise wrong_call(f"{message}: {hint}" if hint else message)


_FEW: Final = 15
"""So many settings are listed in an error."""


def sequence_of(name: str, given: object) -> tuple[Any, ...]:
    """Return *given* as a tuple; InvalidRequestError if it is not a sequence."""
    if given is None:
        return ()
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        kind = "a function" if inspect.isroutine(given) else shown_kind(given)
        raise InvalidRequestError(f"{name} must be a list, not {kind}: write {name}=[...]")
    return tuple(given)
