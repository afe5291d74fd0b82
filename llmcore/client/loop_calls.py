"""Having an event loop call a function, from whatever thread."""

from collections.abc import Callable

import sniffio


def loop_caller() -> Callable[[Callable[[], object]], object]:
    """Return what has the running event loop, asyncio's or trio's, call a function soon.

    What is returned may be called from any thread, and in a signal handler; it raises
    RuntimeError once the loop has ended.
    """
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon
    import asyncio

    return asyncio.get_running_loop().call_soon_threadsafe
