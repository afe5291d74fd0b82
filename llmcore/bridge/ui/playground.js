
// -- the playground of the gateway's page; state, ask and read are those of ui.js

const draft = { model: "", system: "", prompt: "", temperature: "", tools: "" };

function bodyOf(messages) {
  const body = { model: draft.model, messages, stream: true, stream_options: { include_usage: true } };
  if (draft.temperature.trim()) body.temperature = Number(draft.temperature);
  if (draft.tools.trim()) body.tools = JSON.parse(draft.tools);
  return body;
}

function conversation() {
  const begin = draft.system.trim() && !state.messages.length ? [{ role: "system", content: draft.system }] : [];
  const next = draft.prompt.trim() ? [{ role: "user", content: draft.prompt }] : [];
  return [...begin, ...state.messages, ...next];
}

function asCurl() {
  const quoted = JSON.stringify(bodyOf(conversation()), null, 2).replaceAll("'", "'\\''");
  const key = state.key ? ` \\\n  -H "authorization: Bearer $OPENBRIDGE_KEY"` : "";
  return `curl -N ${location.origin}/v1/chat/completions \\\n  -H 'content-type: application/json'${key} \\\n  --data-binary '${quoted}'`;
}

function literal(value, indent = "    ") {  // in Python
  if (value === null || typeof value === "boolean") return { null: "None", true: "True", false: "False" }[value];
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value) ? value.map((one) => literal(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${literal(one, inner)}`);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  return items.length ? `${left}\n${items.map((one) => `${inner}${one},\n`).join("")}${indent}${right}` : left + right;
}

function asPython() {
  const { stream_options, ...body } = bodyOf(conversation());
  const key = state.key ? 'os.environ["OPENBRIDGE_KEY"]' : '"none"';
  const given = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value)},\n`).join("");
  const calls = body.tools ? `    for call in (delta and delta.tool_calls) or []:\n        print(call.function.name or "", call.function.arguments or "", end="", flush=True)\n` : "";
  return `${state.key ? "import os\n\n" : ""}from openai import OpenAI\n\nclient = OpenAI(base_url=${JSON.stringify(`${location.origin}/v1`)}, api_key=${key})\nstream = client.chat.completions.create(\n${given})\nfor chunk in stream:\n    delta = chunk.choices[0].delta if chunk.choices else None\n    if delta and delta.content:\n        print(delta.content, end="", flush=True)\n${calls}`;
}

function field(name, title, tag, attributes) {
  const input = h(tag, { id: `play-${name}`, ...attributes, on: { input: (event) => { draft[name] = event.target.value; } } });
  input.value = draft[name];
  return h("label", {}, title, input);
}

let built = null;  // kept while other views are shown, with the response that it is streaming

function playground() {
  if (isAdmin()) return h("p", { class: "panel dim" }, "The admin key does not ask models: open the page with a client key.");
  if (!built) built = newPlayground();
  return built;
}

function newPlayground() {
  const models = h("datalist", { id: "models" });
  const model = field("model", "Model", "input", { list: "models", required: "", autocomplete: "off", placeholder: "a name from the list, or another" });
  read("/v1/models").then((found) => {
    const names = (found.data || []).map((one) => one.id);
    models.replaceChildren(...names.map((value) => h("option", { value })));
    if (names.length === 1 && !draft.model) draft.model = model.querySelector("input").value = names[0];
  }).catch(() => {});
  const log = h("div", { "aria-live": "polite" }), notice = h("p", { class: "bad", role: "alert" });
  const shown = h("pre", { tabindex: "0", hidden: "" });
  const prompt = field("prompt", "Prompt (Ctrl+Enter sends it)", "textarea", { rows: "3" });
  const setPrompt = (text) => { draft.prompt = text; prompt.querySelector("textarea").value = text; };
  let abort = null;
  const drawLog = () => {
    const turns = state.messages.filter((one) => one.role !== "system").map(turn);
    log.replaceChildren(...(turns.length ? turns : [h("p", { class: "dim" }, "Nothing sent yet.")]));
  };
  const made = (make) => {
    try {
      notice.textContent = "";
      return make();
    } catch (error) {
      notice.textContent = `The tools are not JSON: ${error.message}`;
      return null;
    }
  };
  const copy = (make) => () => {
    const text = made(make);
    shown.hidden = text === null;
    shown.textContent = text || "";
    if (text && navigator.clipboard) navigator.clipboard.writeText(text).catch(() => {});
  };
  const stop = h("button", { type: "button", disabled: "", on: { click: () => abort && abort.abort() } }, "Stop");
  const submit = h("button", { class: "primary", type: "submit" }, "Send");
  const fresh = h("button", { type: "button", on: { click: () => { state.messages = []; notice.textContent = ""; drawLog(); } } }, "New conversation");
  const busy = (is) => {  // the focus stays on a button that works
    const focused = document.activeElement;
    submit.disabled = fresh.disabled = is;
    stop.disabled = !is;
    if (is && [submit, document.body].includes(focused)) stop.focus();
    if (!is && focused === stop) (log.querySelector("textarea") || prompt.querySelector("textarea")).focus();
  };
  const send = async (submitted) => {
    submitted.preventDefault();
    const body = made(() => bodyOf(conversation()));
    if (body === null || submit.disabled) return;
    if (!["user", "tool"].includes((body.messages.at(-1) || {}).role)) {
      notice.textContent = "Write a prompt.";
      return;
    }
    state.messages = body.messages;
    setPrompt("");
    shown.hidden = true;  // what was copied is another request
    abort = new AbortController();
    drawLog();
    busy(true);
    const parts = { thoughts: h("pre", { class: "dim", hidden: "" }), text: h("pre", {}, "…"), line: h("p", { class: "dim" }) };
    log.append(h("b", {}, "assistant"), parts.thoughts, parts.text, parts.line);
    try {
      state.messages.push(await responseOf(body, abort.signal, parts));
      drawLog();
      log.append(parts.line);
      const calls = state.messages.at(-1).tool_calls;
      if (calls) log.append(toolResults(calls, () => form.requestSubmit()));
    } catch (error) {
      const arrived = parts.text.textContent !== "…";
      if (!arrived && state.messages.at(-1).role === "user") setPrompt(state.messages.pop().content);  // to be sent again
      drawLog();
      if (arrived) log.append(h("b", {}, "assistant"), parts.text);
      notice.textContent = error.name === "AbortError" ? "Stopped." : error.message;
    }
    busy(false);
  };
  const form = h("form", { class: "panel", on: { submit: send } },
    h("div", { class: "grid" }, h("div", {},
      model, models,
      field("temperature", "Temperature", "input", { type: "number", min: "0", step: "any", placeholder: "the model's default" })),
    h("div", {}, field("system", "System prompt, for a new conversation", "textarea", { rows: "2" }),
      field("tools", "Tools (JSON of Chat Completions)", "textarea", { rows: "2", placeholder: '[{"type": "function", "function": {"name": "weather", "parameters": {}}}]' }))),
    prompt,
    h("p", {}, submit, " ", stop, " ", fresh, " ",
      h("button", { type: "button", on: { click: copy(asCurl) } }, "Copy as curl"), " ",
      h("button", { type: "button", on: { click: copy(asPython) } }, "Copy as Python")), notice, shown);
  prompt.addEventListener("keydown", (pressed) => {
    if (pressed.key === "Enter" && (pressed.ctrlKey || pressed.metaKey)) form.requestSubmit();
  });
  drawLog();
  return h("div", {}, form, h("div", { class: "panel" }, h("h2", {}, "Conversation"), log));
}

const thoughtsOf = new WeakMap();

function turn(message) {
  const calls = (message.tool_calls || []).map((call) => `${call.function.name}(${call.function.arguments})`);
  const thoughts = thoughtsOf.get(message);
  return h("div", {}, h("b", {}, message.role),
    thoughts ? h("details", {}, h("summary", { class: "dim" }, "Reasoning"), h("pre", { class: "dim", tabindex: "0" }, thoughts)) : null,
    h("pre", { tabindex: "0" }, [message.content || "", ...calls].filter(Boolean).join("\n")));
}

function toolResults(calls, send) {
  const inputs = calls.map((call) => h("textarea", { rows: "2" }));
  const done = () => {
    calls.forEach((call, index) => state.messages.push({ role: "tool", tool_call_id: call.id, content: inputs[index].value }));
    send();
  };
  return h("div", {}, calls.map((call, index) => h("label", {}, `Result of ${call.function.name}`, inputs[index])),
    h("p", {}, h("button", { type: "button", on: { click: done } }, "Send results")));
}

async function responseOf(body, signal, { thoughts, text, line }) {
  const started = performance.now();
  const response = await ask("/v1/chat/completions", { method: "POST", body: JSON.stringify(body), signal });
  if (!response.ok) {
    const failed = await response.json().catch(() => ({}));
    throw new Error((failed.error && failed.error.message) || `HTTP ${response.status}`);
  }
  const message = { role: "assistant", content: "" }, calls = [];
  let first = null, usage = null, reasoning = "";
  for await (const chunk of frames(response.body)) {
    if (chunk.error) throw new Error(chunk.error.message);
    usage = chunk.usage || usage;
    const delta = chunk.choices && chunk.choices[0] ? chunk.choices[0].delta || {} : {};
    if (delta.content || delta.reasoning_content) first = first === null ? performance.now() : first;
    if (delta.reasoning_content) {
      reasoning += delta.reasoning_content;
      thoughts.hidden = false;
      thoughts.textContent = reasoning;
    }
    if (delta.content) message.content += delta.content;
    for (const part of delta.tool_calls || []) {
      const call = (calls[part.index] = calls[part.index] || { id: "", type: "function", function: { name: "", arguments: "" } });
      call.id = part.id || call.id;
      call.function.name += (part.function && part.function.name) || "";
      call.function.arguments += (part.function && part.function.arguments) || "";
    }
    const lines = [message.content, ...calls.map((one) => `${one.function.name}(${one.function.arguments})`)].filter(Boolean);
    if (delta.content || delta.tool_calls) text.textContent = lines.join("\n");
  }
  if (calls.length) message.tool_calls = calls;
  if (reasoning) thoughtsOf.set(message, reasoning);
  const facts = [first === null ? null : `first token after ${seconds(first - started)}`, `${seconds(performance.now() - started)} in all`,
    usage ? `${number(usage.prompt_tokens)} tokens in, ${number(usage.completion_tokens)} out` : null];
  line.textContent = facts.filter(Boolean).join(", ");
  return message;
}

async function* frames(stream) {
  const reader = stream.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split(/\r?\n/).filter((row) => row.startsWith("data:")).map((row) => row.slice(5).trimStart()).join("\n");
      if (data && data !== "[DONE]") yield JSON.parse(data);
    }
    if (done) return;
  }
}
