"""Which values only a garbage collection frees, as they refer to each other."""

import gc
from collections import Counter
from collections.abc import Callable


def in_cycles(work: Callable[[], object]) -> Counter[str]:
    """Return how many values of llmcore's classes *work* leaves in reference cycles, by class."""
    work()  # what is made once, such as classes, is not counted
    gc.collect()
    gc.disable()
    try:
        work()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = [type(value) for value in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    return Counter(kind.__name__ for kind in kinds if kind.__module__.startswith("llmcore."))
