"""Servers on loopback behind TLS, by an authority that only the test knows."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import trustme
from attrs import define, field

from tests.support.servers.loopback import Handler, Loopback, Received, stop_accepting


@define
class Authority:
    """A private authority, and its certificate as a file."""

    ca: trustme.CA
    file: Path

    def server_context(self, *protocols: str) -> ssl.SSLContext:
        """Return the context of a server on loopback that offers *protocols* by ALPN."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def client_context(self) -> ssl.SSLContext:
        """Return the context of a client that trusts no other authority."""
        return ssl.create_default_context(cafile=str(self.file))


def new_authority(folder: Path) -> Authority:
    """Return a new authority, its file in *folder*."""
    ca, file = trustme.CA(), folder / "ca.pem"
    ca.cert_pem.write_to_path(str(file))
    return Authority(ca, file)


class TlsLoopback(Loopback):
    """A `Loopback` behind TLS; scripts may not pause."""

    def __init__(self, handler: Handler, context: ssl.SSLContext) -> None:
        self.context = context
        self.handshakes: list[bool] = []
        """Which clients trusted us."""
        super().__init__(handler)

    @property
    def url(self) -> str:
        return super().url.replace("http:", "https:")

    def _serve(self, connection: socket.socket) -> None:
        try:
            secure = self.context.wrap_socket(connection, server_side=True)
        except OSError:  # ssl.SSLError is one: the client refused our certificate
            self.handshakes.append(False)
            connection.close()
            return
        self.handshakes.append(True)
        super()._serve(secure)


@contextmanager
def serve_tls(handler: Handler, authority: Authority) -> Iterator[TlsLoopback]:
    """Run a server behind TLS for the block."""
    server = TlsLoopback(handler, authority.server_context("http/1.1"))
    try:
        yield server
    finally:
        server.close()


@define
class _Asked:
    """A request on its way in."""

    headers: dict[str, str]
    body: bytearray = field(factory=bytearray)


class Http2Loopback(TlsLoopback):
    """Responses over HTTP/2, by `h2`; the same handlers as over HTTP/1.1.

    A pause in a script is never over: the response stays open.
    """

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), self.context.wrap_socket(connection, server_side=True) as secure:
            if secure.selected_alpn_protocol() != "h2":
                Loopback._serve(self, secure)
                return
            machine = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            machine.initiate_connection()
            secure.sendall(machine.data_to_send())
            asked: dict[int, _Asked] = {}
            while data := secure.recv(65536):
                for event in machine.receive_data(data):
                    self._on_event(machine, event, asked)
                secure.sendall(machine.data_to_send())

    def _on_event(
        self,
        machine: h2.connection.H2Connection,
        event: h2.events.Event,
        asked: dict[int, _Asked],
    ) -> None:
        match event:
            case h2.events.RequestReceived(stream_id=int(at), headers=list(headers)):
                asked[at] = _Asked({_text(name): _text(value) for name, value in headers})
            case h2.events.DataReceived(stream_id=int(at), data=bytes(data)):
                asked[at].body += data
                machine.acknowledge_received_data(len(data), at)
            case h2.events.StreamEnded(stream_id=int(at)):
                self._reply(machine, at, asked.pop(at))

    def _reply(self, machine: h2.connection.H2Connection, at: int, asked: _Asked) -> None:
        plain = {name: value for name, value in asked.headers.items() if name[0] != ":"}
        received = Received(
            asked.headers[":method"], asked.headers[":path"], plain, bytes(asked.body)
        )
        self.received.append(received)
        answer = self.handler(received)
        headers = [(":status", str(answer.status)), *answer.headers.items()]
        machine.send_headers(at, headers)
        for item in answer.script:
            if not isinstance(item, bytes):
                return
            machine.send_data(at, item)
        machine.end_stream(at)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def serve_http2(handler: Handler, authority: Authority) -> Iterator[Http2Loopback]:
    """Run a server that prefers HTTP/2 for the block."""
    server = Http2Loopback(handler, authority.server_context("h2", "http/1.1"))
    try:
        yield server
    finally:
        server.close()


# -- a proxy


class Proxy:
    """A real HTTP proxy on loopback: it forwards requests, and opens tunnels by CONNECT."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.heads: list[str] = []
        """The first lines of what it was asked, with the headers."""
        self.refusal = ""
        """The status and its reason with which it answers each request, if it refuses them."""
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._closing = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"{'http' if self._context is None else 'https'}://{self.address}"

    @property
    def targets(self) -> list[str]:
        """Method and target of each request."""
        return [head.split("\r\n")[0].rpartition(" ")[0] for head in self.heads]

    def close(self) -> None:
        self._closing = True
        stop_accepting(self._socket, self._accepting)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._relay(connection)
        except OSError:
            return

    def _relay(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        self.heads.append(head.decode("latin-1"))
        if self.refusal:
            connection.sendall(f"HTTP/1.1 {self.refusal}\r\n\r\n".encode())
            return
        method, target, _ = head.split(b" ", 2)
        if method == b"CONNECT":
            host, _, port = target.decode().partition(":")
            with socket.create_connection((host, int(port))) as upstream:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                _both_ways(connection, upstream)
            return
        self._forward(connection, target.decode(), head, rest)

    def _forward(self, connection: socket.socket, target: str, head: bytes, rest: bytes) -> None:
        authority, _, path = target.removeprefix("http://").partition("/")
        host, _, port = authority.partition(":")
        first, _, headers = head.partition(b"\r\n")
        method = first.split(b" ")[0]
        kept = [line for line in headers.split(b"\r\n") if not line.lower().startswith(b"proxy-")]
        lines = [b"%b /%b HTTP/1.1" % (method, path.encode()), *kept, b"", b""]
        with socket.create_connection((host, int(port or 80))) as upstream:
            upstream.sendall(b"\r\n".join(lines) + rest)
            _both_ways(connection, upstream)


class SocksProxy(Proxy):
    """A real SOCKS proxy on loopback (RFC 1928), with a password if one is given (RFC 1929)."""

    def __init__(self, credentials: tuple[str, str] | None = None) -> None:
        super().__init__()
        self._credentials = credentials

    @property
    def url(self) -> str:
        given = "" if self._credentials is None else ":".join(self._credentials) + "@"
        return f"socks5h://{given}{self.address}"

    def _relay(self, connection: socket.socket) -> None:
        methods = _exactly(connection, _exactly(connection, 2)[1])
        if self._credentials is None:
            connection.sendall(b"\x05\x00")
        elif 2 not in methods or not self._lets_in(connection):
            return
        kind = _exactly(connection, 4)[3]
        host = _socks_text(connection) if kind == 3 else socket.inet_ntoa(_exactly(connection, 4))
        port = int.from_bytes(_exactly(connection, 2), "big")
        self.heads.append(f"SOCKS {host}:{port} 5")
        with socket.create_connection((host, port)) as upstream:
            connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
            _both_ways(connection, upstream)

    def _lets_in(self, connection: socket.socket) -> bool:
        connection.sendall(b"\x05\x02")
        _exactly(connection, 1)
        good = (_socks_text(connection), _socks_text(connection)) == self._credentials
        connection.sendall(b"\x01\x00" if good else b"\x01\x01")
        return good


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise OSError("the client left")
        data += piece
    return data


def _socks_text(connection: socket.socket) -> str:
    return _exactly(connection, _exactly(connection, 1)[0]).decode()


def _both_ways(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join(timeout=5)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def proxy(context: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """Run a proxy for the block; with a *context*, behind TLS itself."""
    running = Proxy(context)
    try:
        yield running
    finally:
        running.close()
