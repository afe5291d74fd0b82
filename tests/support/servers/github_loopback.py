"""A stand-in for GitHub: its login by code, the exchange of tokens, and Copilot's API behind it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl

from attrs import define, field

from tests.support.servers.loopback import Answer, Handler, Loopback, Received, chat_handler


def answer(document: object, status: int = 200) -> Answer:
    """Return *document* as a response."""
    data = json.dumps(document).encode()
    return Answer([data], status, {"content-type": "application/json"}, length=len(data))


@define
class Github:
    """The stand-in's replies, and the requests that it received."""

    url: str = ""
    polls: list[object] = field(factory=lambda: [{"access_token": "gho_new"}])
    """Responses to those who ask whether the code was entered; the last one stays."""
    code: dict[str, object] = field(factory=dict)
    """Fields in which the reply with the code differs."""
    exchange: Answer | None = None
    """The response to exchanges; without it they bring `tid=1`, `tid=2`..."""
    refresh_in: float = 1500
    chat: Handler = chat_handler
    exchanges: list[Received] = field(factory=list)
    forms: list[dict[str, str]] = field(factory=list)
    chats: list[Received] = field(factory=list)

    def handle(self, received: Received) -> Answer:
        """Answer one request."""
        match received.path:
            case "/login/device/code":
                return self._device_code(received)
            case "/login/oauth/access_token":
                self.forms.append(dict(parse_qsl(received.body.decode())))
                said = self.polls.pop(0) if len(self.polls) > 1 else self.polls[0]
                return said if isinstance(said, Answer) else answer(said)
            case "/copilot_internal/v2/token":
                self.exchanges.append(received)
                return self.exchange or self._exchanged()
            case _:
                self.chats.append(received)
                return self.chat(received)

    def _device_code(self, received: Received) -> Answer:
        self.forms.append(dict(parse_qsl(received.body.decode())))
        usual = {
            "device_code": "dev-1",
            "user_code": "ABCD-1234",
            "verification_uri": "https://github.com/login/device",
            "expires_in": 900,
            "interval": 5,
        }
        return answer({**usual, **self.code})

    def _exchanged(self) -> Answer:
        document = {
            "token": f"tid={len(self.exchanges)};exp=9;sku=x",
            "expires_at": 1,  # the clocks of the two machines need not agree
            "refresh_in": self.refresh_in,
            "endpoints": {"api": f"{self.url}/copilot"},
        }
        return answer(document)


@contextmanager
def github() -> Iterator[Github]:
    """Run the stand-in for the block."""
    stand_in = Github()
    server = Loopback(stand_in.handle)
    stand_in.url = server.url
    try:
        yield stand_in
    finally:
        server.close()
