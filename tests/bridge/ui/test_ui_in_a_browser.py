"""The gateway's page in a headless Chromium."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from llmcore.bridge.configuration.settings import AccountSettings
from tests.support.programs.browser import SIZES, opened
from tests.support.servers.bridge_service import listening, settings_for
from tests.support.servers.loopback import Answer, Received, chat_chunk, chat_handler, serve

pytestmark = pytest.mark.slow

ADMIN_KEY = "the-admin-key-of-the-test"
REFUSED = "accounts/models/a-long-name-of-a-model-without-a-place-to-break-2026-11-23-preview"
TEXT = (
    chat_chunk(delta={"content": "Hello"}),
    chat_chunk(delta={}, finish_reason="stop"),
    b"data: [DONE]\n\n",
)
HOSTILE = "<img src=x onerror=alert(1)>"


def handler(received: Received) -> Answer:
    """List models; call a tool where there is one, until its result is there."""
    if received.method == "GET":
        data = b'{"object": "list", "data": [{"id": "m-1", "object": "model"}]}'
        return Answer([data], 200, {"content-type": "application/json"}, length=len(data))
    body = received.json
    assert isinstance(body, dict)
    if body["model"] == REFUSED:
        data = b'{"error": {"message": "there is no such model"}}'
        return Answer([data], 404, {"content-type": "application/json"}, length=len(data))
    if body["model"] == "reasons":
        script = [chat_chunk(delta={"reasoning_content": "Hm."}), *TEXT]
        return Answer(script, headers={"content-type": "text/event-stream"})
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        function = {"name": "weather", "arguments": '{"city": "Oslo"}'}
        call = {"index": 0, "id": "c1", "type": "function", "function": function}
        script = [
            chat_chunk(delta={"tool_calls": [call]}),
            chat_chunk(delta={}, finish_reason="tool_calls"),
            b"data: [DONE]\n\n",
        ]
        return Answer(script, headers={"content-type": "text/event-stream"})
    return chat_handler(received)


@pytest.fixture
def gateway() -> Iterator[str]:
    with serve(handler) as upstream:
        accounts = AccountSettings(admin_key=ADMIN_KEY, issued_keys=True)
        settings = settings_for(
            upstream.url, ui_record=True, client_api_keys=("key-one",), accounts=accounts
        )
        with listening(settings) as url:
            yield url.removesuffix("/v1")


SCROLLED_INSIDE = """[...document.querySelectorAll(".scroll")]
    .filter((part) => part.scrollHeight > part.clientHeight + 1)
    .map((part) => [part.scrollHeight, part.clientHeight])"""
"""Lists that scroll inside of the page, which is hard to notice on a telephone."""


def enter_key(page: Any, key: str = "key-one") -> None:
    """Give the page a key."""
    page.fill("#key", key)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("size", SIZES)
def test_requests_appear_and_open(size: tuple[int, int, str], browser: Any, gateway: str) -> None:
    """As they happen, with every view; hostile text is text."""
    with opened(browser, f"{gateway}/ui", size, expected="401") as page:
        enter_key(page)
        page.get_by_text("No requests yet").wait_for()
        body = {"model": HOSTILE, "messages": [{"role": "user", "content": HOSTILE}]}
        headers = {"authorization": "Bearer key-one"}
        httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
        page.locator("table tbody tr").first.wait_for()
        for model in ("m",) * 5 + (REFUSED,):
            asked = {**body, "model": model}
            httpx.post(f"{gateway}/v1/chat/completions", json=asked, headers=headers)
        show = page.get_by_role("button", name="Show request").first
        box = show.bounding_box()
        assert box["x"] + box["width"] <= size[0]  # without scrolling
        page.locator("table tbody tr").nth(6).wait_for()
        assert page.evaluate(SCROLLED_INSIDE) == []
        show.click()
        page.locator("section.exchange").wait_for()
        assert page.locator("summary", has_text="The upstream's request").count() == 1
        page.get_by_role("button", name="Back to all requests").click()
        page.locator("#tab-requests").focus()
        page.keyboard.press("ArrowRight")  # the tabs work without a mouse
        page.get_by_text("Time to the first byte, median").wait_for()
        page.keyboard.press("ArrowRight")
        page.locator("[data-label='Last failure']", has_text="no such model").wait_for()
        assert page.evaluate(SCROLLED_INSIDE) == []
        assert page.locator("img").count() == 0


def test_home_and_end_select_the_first_and_the_last_tab(browser: Any, gateway: str) -> None:
    with opened(browser, f"{gateway}/ui", SIZES[0], expected="401") as page:
        enter_key(page)
        page.get_by_role("tab", name="Requests").focus()
        page.keyboard.press("End")
        page.get_by_role("tab", name="Playground", selected=True).wait_for()
        assert page.evaluate("document.activeElement.id") == "tab-playground"
        page.keyboard.press("Home")
        page.get_by_role("tab", name="Requests", selected=True).wait_for()
        assert page.evaluate("document.activeElement.id") == "tab-requests"


@pytest.mark.parametrize("width", [1300, 1000, 650, 320])
def test_a_long_name_leaves_place_for_all_columns(width: int, browser: Any, gateway: str) -> None:
    """Also with the zoom of the browser, which makes the window narrower."""
    headers = {"authorization": "Bearer key-one"}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    path = f"{gateway}/v1beta/models/{REFUSED}:generateContent"
    httpx.post(path, json=body, headers=headers)
    with opened(browser, f"{gateway}/ui", (width, 800, "light"), expected="401") as page:
        enter_key(page)
        show = page.get_by_role("button", name="Show request")
        show.wait_for()
        box = show.bounding_box()
        assert box["x"] + box["width"] <= width
        page.click("#tab-health")
        page.get_by_text("no such model").wait_for()


def test_escape_leads_back_to_the_row_of_a_request(browser: Any, gateway: str) -> None:
    """As the button does; a screen reader has a name for each part."""
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"authorization": "Bearer key-one"}
    for _ in range(2):
        httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page)
        show = page.get_by_role("button", name="Show request").nth(1)
        name = show.get_attribute("aria-label")
        for leave in ("Escape", "Enter"):  # the button has the focus
            show.click()
            page.locator("section.exchange").wait_for()
            page.keyboard.press(leave)
            assert page.evaluate("document.activeElement.ariaLabel") == name
        assert "" not in page.locator("th").all_text_contents()
        assert page.get_by_role("tabpanel", name="Requests").count() == 1


def test_the_playground_begins_with_the_only_model(browser: Any, gateway: str) -> None:
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        page.route("**/v1/models", lambda call: call.fulfill(json={"data": [{"id": "only"}]}))
        enter_key(page)
        page.get_by_text("No requests yet").wait_for()
        page.click("#tab-playground")
        page.locator("#models option[value=only]").wait_for(state="attached")
        assert page.input_value("#play-model") == "only"


def test_the_playground_streams_and_calls_tools(browser: Any, gateway: str) -> None:
    """And shows the same request as curl and as Python, without the key."""
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page)
        page.get_by_text("No requests yet").wait_for()
        page.click("#tab-playground")
        page.fill("#play-model", "m-1")
        page.fill("#play-tools", '[{"type": "function", "function": {"name": "weather"}}]')
        page.fill("#play-prompt", "It's sunny, true, false, or null]?")
        page.get_by_role("button", name="Copy as curl").click()
        shown = page.locator("form pre").inner_text()
        assert "'\\''s sunny" in shown
        assert "true, false, or null]?" in shown
        assert "$OPENBRIDGE_KEY" in shown
        page.get_by_role("button", name="Copy as Python").click()
        python = page.locator("form pre").inner_text()
        compile(python, "copied", "exec")
        assert "It's sunny, true, false, or null]?" in python
        assert "key-one" not in shown + python
        page.get_by_role("button", name="Send", exact=True).click()
        page.locator("label:has(textarea:focus)", has_text="Result of weather").wait_for()
        page.keyboard.type("sunny")
        page.get_by_role("button", name="Send results").click()
        page.locator("pre", has_text="Hello").wait_for()
        page.locator("#play-prompt:focus").wait_for()
        page.get_by_text("3 tokens in, 2 out").wait_for()


def test_a_prompt_whose_response_failed_can_be_sent_again(browser: Any, gateway: str) -> None:
    """The error is shown, and the prompt is not part of the conversation."""
    with opened(browser, f"{gateway}/ui", expected="40") as page:  # 401 and 404
        enter_key(page)
        page.get_by_text("No requests yet").wait_for()
        page.click("#tab-playground")
        page.get_by_text("Nothing sent yet").wait_for()
        page.fill("#play-model", REFUSED)
        page.fill("#play-prompt", "Hi")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("alert").get_by_text("no such model").wait_for()
        assert page.input_value("#play-prompt") == "Hi"
        page.fill("#play-model", "m-1")
        page.get_by_role("button", name="Send", exact=True).click()
        page.locator("pre", has_text="Hello").wait_for()
        assert page.locator("pre", has_text="Hi").count() == 1


def test_the_playground_goes_on_while_other_views_are_shown(browser: Any, gateway: str) -> None:
    """Reasoning is shown beside the text, and an empty prompt is not sent."""
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page)
        page.get_by_text("No requests yet").wait_for()
        page.click("#tab-playground")
        page.fill("#play-model", "reasons")
        send = page.get_by_role("button", name="Send", exact=True)
        send.click()
        page.get_by_role("alert").get_by_text("Write a prompt.").wait_for()
        page.fill("#play-prompt", "Hi")
        page.press("#play-prompt", "Control+Enter")
        page.locator("summary", has_text="Reasoning").wait_for()
        page.click("#tab-requests")
        page.locator("table tbody tr", has_text="reasons").wait_for()
        page.click("#tab-playground")
        assert page.locator("pre", has_text="Hm.").count() == 1
        assert page.locator("pre", has_text="Hello").count() == 1


def test_a_request_that_was_not_recorded_has_its_numbers(browser: Any) -> None:
    """And it says how its content is kept."""
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    with serve(handler) as upstream, listening(settings_for(upstream.url)) as url:
        httpx.post(f"{url}/chat/completions", json=body)
        with opened(browser, f"{url.removesuffix('/v1')}/ui", SIZES[1]) as page:
            page.get_by_role("button", name="Show request").click()
            page.get_by_text("OPENBRIDGE_UI_RECORD=true").wait_for()
            assert page.locator("dt", has_text="Tokens in").locator("+ dd").text_content() == "3"


def test_the_focus_stays_while_requests_arrive(browser: Any, gateway: str) -> None:
    """On the button of a row that moves down."""
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"authorization": "Bearer key-one"}
    httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page)
        page.get_by_role("button", name="Show request").focus()
        before = page.evaluate("document.activeElement.ariaLabel")
        httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
        page.locator("table tbody tr").nth(1).wait_for()
        assert page.evaluate("document.activeElement.ariaLabel") == before
        page.click("#tab-plots")
        page.locator("#group").focus()
        httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
        page.get_by_text("Of the last 3 requests").wait_for()
        assert page.evaluate("document.activeElement.id") == "group"


def test_the_admin_sees_whose_requests_they_are(browser: Any, gateway: str) -> None:
    """By the names of issued keys."""
    made = httpx.post(
        f"{gateway}/admin/keys",
        json={"name": "the-ci"},
        headers={"authorization": f"Bearer {ADMIN_KEY}"},
    )
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"authorization": f"Bearer {made.json()['key']}"}
    httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page, ADMIN_KEY)
        page.locator("table tbody tr", has_text="the-ci").wait_for()
        page.click("#tab-plots")
        page.select_option("#group", "key")
        page.locator("h2", has_text="Failed responses").wait_for()
        assert page.locator("svg[aria-label^='Responses: the-ci']").count() == 1


def test_the_admin_sees_what_was_spent(browser: Any, gateway: str) -> None:
    """By model, of all keys, from the ledger."""
    body = {"model": "m-1", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"authorization": "Bearer key-one"}
    httpx.post(f"{gateway}/v1/chat/completions", json=body, headers=headers)
    with opened(browser, f"{gateway}/ui", expected="401") as page:
        enter_key(page, "wrong")
        page.get_by_role("alert").get_by_text("does not accept this key").wait_for()
        assert not page.locator("#tab-health").is_visible()
        enter_key(page, ADMIN_KEY)
        page.locator("table tbody tr").first.wait_for()
        page.click("#tab-plots")
        page.get_by_text("The last 30 days, of all keys").wait_for()
        page.select_option("#group", "key")
        page.get_by_text("Failed responses").wait_for()
        assert (
            page.get_by_text("The cost of 1 response is unknown and not in the sums.").count() == 1
        )
        assert page.get_by_text("$0.00").count() == 0  # unknown is not 0


ASK = """async ([url, key]) => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: {authorization: `Bearer ${key}`, "content-type": "application/json"},
        body: JSON.stringify({model: "m", stream: true, messages: [{role: "user", content: "Hi"}]}),
    });
    const id = answer.headers.get("x-request-id");
    return [answer.status, id, await answer.text()];
}"""


def blank_page(_received: Received) -> Answer:
    data = b"<!doctype html><title>app</title>"
    return Answer([data], 200, {"content-type": "text/html"}, length=len(data))


def test_pages_of_an_allowed_origin_can_use_the_api(browser: Any) -> None:
    """They read streams, headers and errors; a page of any other origin reads nothing."""
    with serve(handler) as upstream, serve(blank_page) as app, serve(blank_page) as other:
        keys = ("key-one",)
        settings = settings_for(upstream.url, client_api_keys=keys, allowed_origins=(app.url,))
        with listening(settings) as v1:
            url, page = v1.removesuffix("/v1"), browser.new_page()
            page.goto(app.url)
            status, id_, text = page.evaluate(ASK, [url, "key-one"])
            refused, _, error = page.evaluate(ASK, [url, "wrong"])
            page.goto(other.url)
            with pytest.raises(Exception, match="Failed to fetch"):
                page.evaluate(ASK, [url, "key-one"])
            page.close()

    assert (status, refused) == (200, 401)
    assert id_.startswith("req_")
    assert "data: [DONE]" in text
    assert "the key is missing or wrong" in error
