"""A griffe extension: the fields of attrs classes and TypedDicts as tables in the API reference.

Everything is read from the source: annotations keep the names that the code uses, and defaults are
shown as they are written.
"""

from typing import Any

from griffe import (
    Attribute,
    Class,
    DocstringParameter,
    DocstringSectionParameters,
    ExprCall,
    ExprKeyword,
    Extension,
)

_ATTRS = frozenset({"frozen", "define", "attrs.frozen", "attrs.define"})


class ReferenceFields(Extension):
    """Adds a table of fields (name, type, description, default) to each class that has fields."""

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Add the table of *cls*, whose members have been read."""
        typed_dict = any(str(base) in {"TypedDict", "RunSettings"} for base in cls.bases)
        if cls.docstring is None or not (typed_dict or _is_attrs(cls)):
            return
        rows = [
            DocstringParameter(
                field.name,
                description=field.docstring.value if field.docstring else "",
                annotation=field.annotation,
                value="optional" if typed_dict else _default(field),
            )
            for field in cls.members.values()
            if isinstance(field, Attribute) and _is_field(field)
        ]
        if rows:
            cls.docstring.parsed.append(DocstringSectionParameters(rows, title="Fields"))


def _is_attrs(cls: Class) -> bool:
    names = {str(decorator.value).partition("(")[0] for decorator in cls.decorators}
    return not names.isdisjoint(_ATTRS)


def _is_field(attribute: Attribute) -> bool:
    if attribute.name.startswith("_") or attribute.annotation is None:
        return False
    if "property" in attribute.labels:
        return False
    return (
        "ClassVar" not in str(attribute.annotation) and _arguments(attribute).get("init") != "False"
    )


def _default(attribute: Attribute) -> str | None:
    """Return the default as the source has it; None for a required field."""
    arguments = _arguments(attribute)
    if arguments.keys() & {"default", "factory"}:
        return arguments.get("default") or f"{arguments['factory']}()"
    is_field_call = (
        isinstance(attribute.value, ExprCall) and str(attribute.value.function) == "field"
    )
    return None if is_field_call or attribute.value is None else str(attribute.value)


def _arguments(attribute: Attribute) -> dict[str, str]:
    """Return the keyword arguments of `field(...)`, if the field is defined by one."""
    call = attribute.value
    if not isinstance(call, ExprCall) or str(call.function) != "field":
        return {}
    keywords = [value for value in call.arguments if isinstance(value, ExprKeyword)]
    return {keyword.name: str(keyword.value) for keyword in keywords}
