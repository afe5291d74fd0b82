"""A changed copy is what `attrs.evolve` would have made."""

import pytest
from attrs import evolve, frozen

from llmcore.schema.changed import changed, copying
from llmcore.schema.request import request


@frozen
class _One:
    only: int


def test_a_copy_equals_what_evolve_makes() -> None:
    """The fields not named stay as they are."""
    asked = request(model="m", prompt="Hello", provider="p", temperature=0.5)

    assert changed(asked, provider=None, strict=True) == evolve(asked, provider=None, strict=True)
    assert asked.provider == "p"


def test_a_value_of_one_field() -> None:
    """Even a single field is copied."""
    assert changed(_One(1)) == _One(1)
    assert changed(_One(1), only=2) == _One(2)


def test_an_unknown_field_is_an_error() -> None:
    """A field that is not there is not invented."""
    with pytest.raises(TypeError, match="other"):
        changed(_One(1), other=2)  # type: ignore[call-arg]


def test_a_copy_by_position_is_the_changed_copy() -> None:
    asked = request(model="m", prompt="Hello", provider="p")
    of_provider = copying(type(asked), "provider", "strict")

    assert of_provider(asked, "q", True) == changed(asked, provider="q", strict=True)
    assert copying(_One)(_One(1)) == _One(1)
    with pytest.raises(TypeError, match="other"):
        copying(_One, "other")


def test_the_order_of_changes_does_not_matter() -> None:
    """A field gets the value that has its name, in whatever order fields are named."""
    asked = request(model="m", prompt="Hello", provider="p")

    first = changed(asked, provider="q", strict=True)
    assert first == changed(asked, strict=True, provider="q")
    assert (first.provider, first.strict) == ("q", True)
