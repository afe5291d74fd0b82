"""How many examples the property tests try: a profile for the run, and a share for slow tests."""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

_Test = TypeVar("_Test", bound=Callable[..., Any])

PROFILES = {"few": 15, "normal": 30, "many": 500}
"""`make test` tries few, CI normal; `make fuzz` many, other ones each time."""


def register_profiles() -> None:
    """Register the profiles with hypothesis, and make `normal` the default.

    All but `many` try the same examples on every run and every machine, so that a change is
    judged by its own faults. Examples have no deadline: the machines that run this are shared.
    """
    for name, examples in PROFILES.items():
        repeatable = name != "many"
        settings.register_profile(
            name,
            max_examples=examples,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            derandomize=repeatable,
            database=None,
            print_blob=not repeatable,
        )
    settings.load_profile("normal")


def leave_out_local_constants() -> None:
    """Keep the constants of imported modules out of examples, unless the profile is `many`.

    hypothesis collects them from the modules that are loaded by then, so that examples depend on
    which tests a worker ran before; it also takes a second, in each worker, to read the modules.
    hypothesis has no setting for this.
    """
    if settings.get_current_profile_name() != "many":
        nothing = Constants()
        providers._get_local_constants = lambda: nothing


def costly(test: _Test) -> _Test:
    """Try a third of the profile's examples in a test whose examples take long."""
    share = max(5, settings().max_examples // 3)
    return settings(max_examples=share)(test)
