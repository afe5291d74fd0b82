"""The router: the target of a path and method, and the errors of unknown ones."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.apis.registry import apis
from llmcore.bridge.http.router import Router
from llmcore.bridge.service import Service
from llmcore.fronts.errors import FrontError
from llmcore.testing import scripted
from tests.support.servers.bridge_service import settings_for

ROUTES = [
    ("POST", "/v1/responses", "create"),
    ("GET", "/v1/responses/{response_id}", "get"),
    ("DELETE", "/v1/responses/{response_id}", "delete"),
    ("POST", "/v1/responses/input_tokens", "count"),
    ("GET", "/v1/responses/{response_id}/input_items", "items"),
    ("GET", "/v1/models", "models"),
    ("GET", "/v1/models/{model_id:path}", "model"),
    ("POST", "/v1beta/models/{rest:path}", "gemini"),
    ("GET", "/", "root"),
]
router = Router(ROUTES)


@pytest.mark.parametrize(
    ("method", "path", "target", "parameters"),
    [
        ("POST", "/v1/responses", "create", {}),
        ("GET", "/v1/responses/resp_1", "get", {"response_id": "resp_1"}),
        ("HEAD", "/v1/responses/resp_1", "get", {"response_id": "resp_1"}),
        ("DELETE", "/v1/responses/resp_1", "delete", {"response_id": "resp_1"}),
        ("POST", "/v1/responses/input_tokens", "count", {}),
        ("GET", "/v1/responses/input_tokens", "get", {"response_id": "input_tokens"}),
        ("GET", "/v1/responses/a/input_items", "items", {"response_id": "a"}),
        ("GET", "/v1/models/any/thing\n", "model", {"model_id": "any/thing\n"}),
        ("POST", "/v1beta/models/m:countTokens", "gemini", {"rest": "m:countTokens"}),
        ("GET", "/", "root", {}),
    ],
)
def test_a_path_leads_to_its_target(
    method: str, path: str, target: str, parameters: dict[str, str]
) -> None:
    found = router.find(method, path)
    assert (found.target, found.parameters) == (target, parameters)


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("PATCH", "/v1/responses/resp_1", 405, "DELETE, GET"),
        ("GET", "/v1/responses", 405, "POST"),
        ("GET", "/v1/responses/", 404, None),
        ("GET", "/v1/responses/a/b", 404, None),
        ("GET", "/V1/models", 404, None),
    ],
)
def test_other_paths_are_errors(method: str, path: str, status: int, allowed: str | None) -> None:
    with pytest.raises(FrontError) as raised:
        router.find(method, path)
    assert raised.value.status == status
    assert dict(raised.value.headers).get("allow") == allowed


def test_a_version_that_is_there_twice_is_named() -> None:
    with pytest.raises(FrontError, match="leave /v1 out of its base URL"):
        router.find("POST", "/v1/v1beta/models/m:generateContent")


@given(st.sampled_from(["GET", "POST", "DELETE"]), st.text(st.sampled_from("/v1modelsrp.{}:\n")))
def test_the_first_pattern_that_matches_is_found(method: str, path: str) -> None:
    expected = None
    for taken, pattern, target in ROUTES:
        segments = re.sub(r"\{\w+\}", "[^/]+", re.sub(r"\{\w+:path\}", r"[\\s\\S]*", pattern))
        if taken == method and re.fullmatch(segments, path):
            expected = expected or target
    try:
        assert router.find(method, path).target == expected
    except FrontError:
        assert expected is None


@pytest.mark.anyio
async def test_no_operation_is_hidden_by_one_that_stands_before_it() -> None:
    """Each is found at a path of its own, also below parameters that hold slashes."""
    service = Service.from_settings(settings_for("http://h"), transport=scripted())
    entries = [
        (operation.method, prefix + operation.path, operation)
        for api in apis(service).all
        for prefix in api.prefixes
        for operation in api.operations
    ]
    serving = Router(entries)
    hidden = [
        (method, path)
        for method, path, operation in entries
        if serving.find(method, re.sub(r"\{[^}]+\}", "x-1", path)).target is not operation
    ]

    await service.aclose()
    assert len(entries) > 50
    assert hidden == []
