"""Relays that only pass bytes on, as the floor of what a gateway can cost in Python.

    python -m benchmarks.bridge_relays aiohttp|httpx UPSTREAM [PORT]

They read no body, check nothing, limit nothing and notice no client that left.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

_HEADERS = {"content-type": "application/json", "authorization": "Bearer k"}


async def _over_aiohttp(upstream: str, listener: socket.socket) -> None:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)

    async def relay(request: web.BaseRequest) -> web.StreamResponse:
        url = upstream + request.path_qs
        sent = session.post(url, data=await request.read(), headers=_HEADERS)
        async with sent as answer:
            kind = {"content-type": answer.headers["content-type"]}
            if "content-length" in answer.headers:
                return web.Response(body=await answer.read(), headers=kind)
            response = web.StreamResponse(headers=kind)
            await response.prepare(request)
            async for data in answer.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response

    runner = web.ServerRunner(web.Server(relay))
    await runner.setup()
    await web.SockSite(runner, listener).start()
    await asyncio.Event().wait()


def _over_httpx(upstream: str, listener: socket.socket) -> None:
    import httpx
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60)

    async def relay(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        url = f"{upstream}{request.url.path}{query}"
        body = await request.body()
        sent = client.build_request("POST", url, content=body, headers=_HEADERS)
        answer = await client.send(sent, stream=True)
        kind = answer.headers["content-type"]
        if "content-length" in answer.headers:
            return Response(await answer.aread(), media_type=kind)

        async def body_of() -> AsyncIterator[bytes]:
            async for data in answer.aiter_raw():
                yield data
            await answer.aclose()

        return StreamingResponse(body_of(), media_type=kind)

    app = Starlette(routes=[Route("/{rest:path}", relay, methods=["POST"])])
    config = uvicorn.Config(app, http="h11", loop="asyncio", access_log=False, log_config=None)
    uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    """Print the port, and relay until killed."""
    kind, upstream, *port = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(*port)), backlog=512)
    print(listener.getsockname()[1], flush=True)
    if kind == "aiohttp":
        asyncio.run(_over_aiohttp(upstream, listener))
    else:
        _over_httpx(upstream, listener)


if __name__ == "__main__":
    main()
