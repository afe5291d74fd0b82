"""Where a request goes: `llmcore/routes/endpoint.py`."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from llmcore.routes.endpoint import Endpoint, EndpointContext
from llmcore.schema.errors import ConfigurationError, InvalidRequestError

CONTEXT = EndpointContext(model_id="m-1", body={"model": "m-1"}, streaming=False)


@pytest.mark.parametrize(
    ("base_url", "path", "query", "url"),
    [
        ("https://h/v1", "/chat/completions", {}, "https://h/v1/chat/completions"),
        ("https://h/v1/", "/chat/completions", {}, "https://h/v1/chat/completions"),
        ("https://h", "/x", {}, "https://h/x"),
        (" https://h/v1 ", "/x", {}, "https://h/v1/x"),
        ("http://[::1]:8000/v1", "/x", {}, "http://[::1]:8000/v1/x"),
        ("https://h/v1?api-version=2", "/x", {}, "https://h/v1/x?api-version=2"),
        ("https://h/v1?a=1", "/x?b=2", {}, "https://h/v1/x?a=1&b=2"),
        ("https://h/v1", "/x?alt=sse", {}, "https://h/v1/x?alt=sse"),
        ("https://h/v1", "/x", {"a": "1 2"}, "https://h/v1/x?a=1+2"),
        ("https://h/v1?a=1", "/x?b=2", {"c": "3"}, "https://h/v1/x?a=1&b=2&c=3"),
        ("https://h/v1?a=1", "/x", {"a": "2"}, "https://h/v1/x?a=2"),
        ("https://h/v1?a=", "/x", {"b": ""}, "https://h/v1/x?a=&b="),
        ("https://h/v1#top", "/x", {}, "https://h/v1/x"),
    ],
)
def test_base_url_path_and_query_are_joined(
    base_url: str, path: str, query: dict[str, str], url: str
) -> None:
    """Base path and path are joined by one slash; all three queries are kept, the last wins."""
    endpoint = Endpoint.path(path, base_url=base_url, query=query)

    assert endpoint.url(CONTEXT).unwrap() == url


def test_a_path_may_depend_on_model_body_and_streaming() -> None:
    """It is a function of them."""

    def path(context: EndpointContext) -> str:
        verb = "stream" if context.streaming else "whole"
        return f"/models/{context.model_id}:{verb}?size={len(context.body)}"

    endpoint = Endpoint.path(path, base_url="https://h/v1")

    assert endpoint.url(CONTEXT).unwrap() == "https://h/v1/models/m-1:whole?size=1"


@pytest.mark.parametrize("path", ["/models/../files", "/models/..", "/./models", "/a/../b?c=1"])
def test_a_path_that_an_id_leads_elsewhere_is_refused(path: str) -> None:
    """Ids may come from the users of a program, and dots are not escaped in a path."""
    error = Endpoint.path(path, base_url="https://h/v1").url(CONTEXT).failure()

    assert isinstance(error, InvalidRequestError)


@pytest.mark.parametrize("path", ["/models/a..b", "/models/gpt-5.2", "/x?next=../y", "/a/...b"])
def test_dots_within_a_segment_and_in_the_query_are_kept(path: str) -> None:
    assert (
        Endpoint.path(path, base_url="https://h/v1").url(CONTEXT).unwrap() == f"https://h/v1{path}"
    )


def test_base_url_may_be_a_function_of_the_environment() -> None:
    """The base URL is then a function of it, and says itself what is missing."""

    def base_url(environ: Mapping[str, str]) -> str:
        if "PLACE" not in environ:
            raise ConfigurationError("no place: set PLACE")
        return f"https://{environ['PLACE']}.example/v1"

    endpoint = Endpoint.path("/x", base_url=base_url)
    somewhere = replace(CONTEXT, environ={"PLACE": "here"})

    assert endpoint.url(somewhere).unwrap() == "https://here.example/v1/x"
    assert endpoint.url(CONTEXT).failure() == ConfigurationError("no place: set PLACE")


@pytest.mark.parametrize("base_url", [None, "", "localhost:8000", "file:///etc", "https://"])
def test_without_a_usable_base_url(base_url: str | None) -> None:
    """It is a ConfigurationError that names the argument."""
    error = Endpoint.path("/x", base_url=base_url).url(CONTEXT).failure()

    assert isinstance(error, ConfigurationError)
    assert "base_url" in error.message


@given(st.dictionaries(st.text("abcXYZ&=% +/", min_size=1, max_size=6), st.text(max_size=8)))
def test_query_parameters_survive_the_url(query: dict[str, str]) -> None:
    """Whatever names and values are made of, they come back out of the URL."""
    url = Endpoint.path("/x", base_url="https://h/v1", query=query).url(CONTEXT).unwrap()

    assert dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)) == query
