"""The names of `llmcore.sync`."""

from types import ModuleType

from llmcore import sync


def test_completion_lists_the_functions_and_classes_alone() -> None:
    values = {name: getattr(sync, name) for name in dir(sync)}

    assert [name for name, value in values.items() if isinstance(value, ModuleType)] == []
    assert {"generate", "stream", "Client", "Conversation", "shutdown"} <= set(values)
    assert not {"TYPE_CHECKING", "lazy_names"} & set(values)
    assert list(values) == sorted(values)
