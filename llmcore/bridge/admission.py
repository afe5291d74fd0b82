"""The number of responses under way, which is limited."""

from collections.abc import Callable

from llmcore.fronts.errors import overloaded


class Admissions:
    """Counts the requests under way that have a body, and reports their number to *show*."""

    def __init__(self, show: Callable[[int], None]) -> None:
        self.most = 0
        """The most that there may be."""
        self._running = 0
        self._show = show

    def admitted(self) -> "Admission":
        """Return a context that counts a request as under way, for a block or until released."""
        return Admission(self)

    def count(self, more: int) -> None:
        """Count *more* requests as under way."""
        self._running += more
        self._show(self._running)

    def check_room(self) -> None:
        """Raise FrontError, 503, if as many responses are under way as there may be."""
        if self._running >= self.most:
            raise overloaded(f"{self._running} responses are under way, which is the limit here")


class Admission:
    """The place of one request among those under way, once it is admitted."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions
        self._admitted = False

    def admit(self) -> None:
        """Count the request as under way; FrontError, 503, if there are too many."""
        self._admissions.check_room()
        self._admissions.count(1)
        self._admitted = True

    def release(self) -> None:
        """Stop counting the request, if it was admitted."""
        if self._admitted:
            self._admitted = False
            self._admissions.count(-1)

    def __enter__(self) -> None:
        self.admit()

    def __exit__(self, *_exc: object) -> None:
        self.release()
