
// -- the gateway's page; the functions above are the inspector's

const state = { key: sessionStorage.getItem("openbridge-key") || "", seen: new Map(), requests: new Map(),
  base: "/ui/api", usage: null, view: "requests", group: "model", chosen: null, messages: [] };

async function ask(path, options) {
  const headers = { "content-type": "application/json" };
  if (state.key) headers.authorization = `Bearer ${state.key}`;
  return fetch(path, { ...options, headers, cache: "no-store" });
}

async function read(path) {
  const response = await ask(path);
  if (response.status === 401 && state.key && state.base === "/ui/api" && path.startsWith(state.base)) {
    state.base = "/admin/ui";  // it may be the admin's
    return read(path.replace("/ui/api", state.base));
  }
  if (response.status === 401 || (response.status === 404 && path === "/admin/ui/status")) throw new Error("key");
  const body = await response.json();
  if (!response.ok) throw new Error((body.error && body.error.message) || `HTTP ${response.status}`);
  return body;
}

// -- the frame

const VIEWS = [["requests", "Requests"], ["plots", "Spend and latency"], ["health", "Health"], ["playground", "Playground"]];
let content, status, tabs;

function start() {
  content = h("div", {});
  status = h("p", { class: "dim", role: "status" });
  tabs = h("nav", { role: "tablist" }, VIEWS.map(([name, title]) => h("button", {
    type: "button", role: "tab", id: `tab-${name}`, on: { click: () => show(name) } }, title)));
  tabs.addEventListener("keydown", (pressed) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[pressed.key];
    if (!step) return;
    const at = VIEWS.findIndex(([name]) => name === state.view);
    const next = VIEWS[(at + step + VIEWS.length) % VIEWS.length][0];
    show(next);
    document.getElementById(`tab-${next}`).focus();
  });
  document.getElementById("main").replaceChildren(h("h1", {}, "OpenBridge"), tabs, status, content);
  show("requests");
  poll();
}

function show(name) {
  state.view = name;
  state.chosen = null;
  for (const [view] of VIEWS) {
    const tab = document.getElementById(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === name));
    tab.tabIndex = view === name ? 0 : -1;
  }
  render();
}

function render() {
  if (state.view === "requests" && !state.chosen) content.replaceChildren(requestTable());
  if (state.view === "plots") content.replaceChildren(...plots());
  if (state.view === "health") renderHealth();
  if (state.view === "playground") content.replaceChildren(playground());
}

function askForKey() {
  const input = h("input", { type: "password", autocomplete: "off", id: "key" });
  const send = (submitted) => {
    submitted.preventDefault();
    state.key = input.value.trim();
    state.base = "/ui/api";
    sessionStorage.setItem("openbridge-key", state.key);
    poll();
  };
  tabs.hidden = true;
  const refused = state.key ? h("p", { class: "bad", role: "alert" }, "The gateway does not accept this key.") : null;
  content.replaceChildren(h("form", { class: "panel", on: { submit: send } }, refused || "",
    h("label", {}, "Key of this gateway", input), h("p", { class: "dim" }, "It is kept in this tab until it is closed."),
    h("button", { class: "primary", type: "submit" }, "Open")));
  input.focus();
}

let timer = null;
async function poll() {
  clearTimeout(timer);
  try {
    const after = [...state.seen].slice(-64).map((pair) => pair.join(":")).join(",");
    const found = await read(`${state.base}/requests?after=${after}`);
    const changed = found.requests.length > 0;
    state.seen.set(found.process, found.seq);
    for (const one of found.requests) state.requests.set(one.id, one);
    status.textContent = "";
    if (tabs.hidden) {
      tabs.hidden = false;
      render();
    } else if (changed && state.view !== "playground" && !state.chosen) render();
  } catch (error) {
    if (error.message === "key") { askForKey(); return; }
    status.textContent = `The gateway cannot be reached: ${error.message}`;
  }
  timer = setTimeout(poll, document.hidden ? 10000 : 1500);
}

// -- requests

function newest() {
  return [...state.requests.values()].sort((one, other) => other.at - one.at);
}

function requestTable() {
  const list = newest();
  if (!list.length) return h("p", { class: "panel dim" }, "No requests yet. They appear here as they happen.");
  const head = ["Time", "Model", "Path", "Status", "First", "Total", "In", "Out", "Cost", ""];
  const classes = [null, null, "less", null, "number less", "number", "number less", "number less", "number", null];  // less: not on a phone
  const rows = list.slice(0, 200).map((one) => h("tr", {},
    h("td", { class: "nowrap" }, new Date(one.at * 1000).toLocaleTimeString()),
    h("td", { class: "title" }, one.model || "–", one.provider ? h("span", { class: "dim" }, ` ${one.provider}`) : null),
    h("td", { class: "nowrap less" }, h("code", {}, one.path)),
    h("td", { class: one.state === "failed" ? "bad" : null, title: one.error }, one.state === "running" ? "running" : String(one.status)),
    h("td", { class: "number less" }, one.first_s === null ? "–" : seconds(one.first_s * 1000)),
    h("td", { class: "number" }, one.seconds === null ? "–" : seconds(one.seconds * 1000)),
    h("td", { class: "number less" }, number(one.usage.input_tokens)),
    h("td", { class: "number less" }, number(one.usage.output_tokens)),
    h("td", { class: "number" }, one.state === "running" || (one.cost === null && one.state === "failed") ? "–" : dollars(one.cost)),
    h("td", { class: "act" }, h("button", { type: "button", "aria-label": `Show request ${one.id}`, on: { click: () => inspect(one) } }, "Show"))));
  return h("div", { class: "scroll panel", tabindex: "0", role: "region", "aria-label": "Requests" },
    h("table", { class: "narrow" }, h("thead", {}, h("tr", {}, head.map((text, index) => h("th", { class: classes[index] }, text)))),
      h("tbody", {}, rows)));
}

async function found(path) {  // another worker may answer, which does not have it
  for (let tries = 0; tries < 8; tries += 1) {
    try {
      return await read(path);
    } catch (error) {
      if (!error.message.startsWith("there is no request")) throw error;
    }
  }
  return read(path);
}

async function inspect(one) {
  state.chosen = one.id;
  const back = h("button", { type: "button", on: { click: () => show("requests") } }, "Back to all requests");
  content.replaceChildren(back);
  if (one.error) content.append(h("pre", { class: "bad" }, one.error));
  if (one.diagnostics) content.append(h("p", {}, `Diagnostics: ${one.diagnostics}`));
  back.focus();
  try {
    const shown = renderExchange(await found(`${state.base}/requests/${encodeURIComponent(one.id)}`));
    if (state.chosen === one.id) content.append(shown);
  } catch (error) {
    content.append(h("p", { class: "panel" }, error.message));
  }
}

// -- plots

function day(one) {
  return new Date(one.at * 1000).toISOString().slice(0, 10);
}

function grouped(list, group) {
  const groups = new Map();
  for (const one of list) {
    const name = group === "day" ? day(one) : group === "key" ? one.key : one.model || "(none)";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(one);
  }
  return [...groups].sort((one, other) => (group === "day" ? one[0].localeCompare(other[0]) : other[1].length - one[1].length)).slice(0, 20);
}

function quantile(values, part) {
  const sorted = values.filter((value) => value !== null).sort((one, other) => one - other);
  return sorted.length ? sorted[Math.min(Math.floor(part * sorted.length), sorted.length - 1)] : null;
}

async function loadUsage() {
  const wanted = state.group;
  const found = await read(`/admin/usage?by=${wanted}&since=30d`).catch(() => ({ data: [] }));
  state.usage = { group: wanted, rows: found.data };
  if (state.view === "plots") render();
}

function stored() {
  if (!state.usage || state.usage.group !== state.group) {
    loadUsage();
    return [];
  }
  const rows = (of) => state.usage.rows.slice(0, 31).map((one) => [String(one[state.group]), of(one)]);
  if (!state.usage.rows.length) return [];
  const unpriced = state.usage.rows.reduce((total, one) => total + one.unpriced, 0);
  const note = h("p", { class: "dim" }, `The cost of ${number(unpriced)} response${unpriced === 1 ? "" : "s"} is unknown and not in the sums.`);
  return [h("h2", {}, "The last 30 days, of all keys"), ...(unpriced ? [note] : []), h("div", { class: "grid" },
    bars("Spend", rows((one) => (one.unpriced && !one.cost_usd ? null : one.cost_usd)), dollars),
    bars("Tokens", rows((one) => one.input_tokens + one.output_tokens), number),
    bars("Responses", rows((one) => one.responses), number),
    bars("Failed responses", rows((one) => one.failed), number))];
}

function plots() {
  const ended = newest().filter((one) => one.state !== "running");
  const choice = h("select", { id: "group", on: { change: (event) => { state.group = event.target.value; render(); document.getElementById("group").focus(); } } },
    ["model", "key", "day"].map((name) => h("option", { value: name, ...(name === state.group ? { selected: "" } : {}) }, name)));
  if (!ended.length && state.base === "/ui/api") return [h("p", { class: "panel dim" }, "No requests yet.")];
  const groups = grouped(ended, state.group);
  const sum = (list, of) => list.reduce((total, one) => total + (of(one) || 0), 0);
  const rows = (of) => groups.map(([name, list]) => [name, of(list)]);
  const ms = (value) => (value === null ? "–" : seconds(value * 1000));
  const unknown = ended.filter((one) => one.cost === null && one.state === "done").length;
  return [h("label", {}, "By", choice),
    h("p", { class: "dim" }, `Of the last ${number(ended.length)} requests of this process${state.base === "/ui/api" ? " with this key" : ""}.${unknown ? ` The cost of ${number(unknown)} is unknown and not in the sums.` : ""}`),
    h("div", { class: "grid" },
      bars("Spend", rows((list) => (list.some((one) => one.cost !== null) ? sum(list, (one) => one.cost) : null)), dollars),
      bars("Tokens", rows((list) => sum(list, (one) => (one.usage.input_tokens || 0) + (one.usage.output_tokens || 0))), number),
      bars("Time to the first byte, median", rows((list) => quantile(list.map((one) => one.first_s), 0.5)), ms),
      bars("Total time, 95th percentile", rows((list) => quantile(list.map((one) => one.seconds), 0.95)), ms),
      bars("Requests", rows((list) => list.length), number),
      bars("Failures", rows((list) => list.filter((one) => one.state === "failed").length), number)),
    ...(state.base === "/admin/ui" ? stored() : [])];
}

// -- health

const UPSTREAM_COLUMNS = ["Upstream", "Requests", "Failed", "First byte", "Last failure"], NUMBERS = new Set([1, 2, 3]);

async function renderHealth() {
  let found;
  try {
    found = await read(`${state.base}/status`);
  } catch (error) {
    if (error.message === "key") askForKey();
    else content.replaceChildren(h("p", { class: "panel bad" }, error.message));
    return;
  }
  if (state.view !== "health") return;
  const open = content.querySelector("details[open]") !== null;  // as it was before
  const providers = new Map();
  for (const one of newest()) {
    if (!one.provider || one.state === "running") continue;
    if (!providers.has(one.provider)) providers.set(one.provider, []);
    providers.get(one.provider).push(one);
  }
  const rows = [...providers].map(([name, list]) => {
    const failed = list.filter((one) => one.state === "failed");
    const last = failed.length ? `${new Date(failed[0].at * 1000).toLocaleTimeString()} ${failed[0].error || failed[0].status}` : "–";
    const first = seconds((quantile(list.map((one) => one.first_s), 0.5) || 0) * 1000);
    const cells = [name, number(list.length), number(failed.length), first, last];
    return h("tr", {}, cells.map((text, index) => h("td", {
      "data-label": UPSTREAM_COLUMNS[index], class: `${NUMBERS.has(index) ? "number" : ""} ${index === 2 && failed.length ? "bad" : ""}` }, text)));
  });
  content.replaceChildren(
    tiles([["Status", found.health.status, found.health.status === "ok" ? null : "bad"], ["Version", found.version.version],
      ["Upstream", found.version.upstream], ["State", found.version.state.backend], ["Recording", found.recording ? "on" : "off"]]),
    rows.length ? h("div", { class: "panel scroll", tabindex: "0", role: "region", "aria-label": "Upstreams" }, h("table", { class: "stacked" },
      h("thead", {}, h("tr", {}, UPSTREAM_COLUMNS.map((title, index) => h("th", { class: NUMBERS.has(index) ? "number" : null }, title)))),
      h("tbody", {}, rows))) : h("p", { class: "dim" }, "No upstream was asked yet."),
    h("div", { class: "panel" }, fold("Configuration", open, code(found.version))));
}

// -- playground

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

function asPython() {
  const body = bodyOf(conversation());
  const literal = (value) => JSON.stringify(value, null, 4).replace(/\b(true|false|null)\b(?=[,\n\]}]|$)/g, (word) => ({ true: "True", false: "False", null: "None" })[word]);
  const key = state.key ? 'os.environ["OPENBRIDGE_KEY"]' : '"none"';
  return `import os\n\nfrom openai import OpenAI\n\nclient = OpenAI(base_url=${JSON.stringify(`${location.origin}/v1`)}, api_key=${key})\nstream = client.chat.completions.create(\n    model=${JSON.stringify(body.model)},\n    messages=${literal(body.messages)},\n${body.tools ? `    tools=${literal(body.tools)},\n` : ""}${body.temperature !== undefined ? `    temperature=${body.temperature},\n` : ""}    stream=True,\n)\nfor chunk in stream:\n    if chunk.choices and chunk.choices[0].delta.content:\n        print(chunk.choices[0].delta.content, end="", flush=True)\n`;
}

function field(name, title, tag, attributes) {
  const input = h(tag, { id: `play-${name}`, ...attributes, on: { input: (event) => { draft[name] = event.target.value; } } });
  input.value = draft[name];
  return h("label", {}, title, input);
}

function playground() {
  if (state.base !== "/ui/api") return h("p", { class: "panel dim" }, "The admin key does not ask models: open the page with a client key.");
  const models = h("datalist", { id: "models" });
  read("/v1/models").then((found) => models.replaceChildren(...(found.data || []).map((one) => h("option", { value: one.id })))).catch(() => {});
  const log = h("div", { "aria-live": "polite" });
  const shown = h("pre", { tabindex: "0", hidden: "" });
  let abort = null;
  const drawLog = () => {
    const turns = state.messages.filter((one) => one.role !== "system").map(turn);
    log.replaceChildren(...(turns.length ? turns : [h("p", { class: "dim" }, "Nothing sent yet.")]));
  };
  const copy = (make) => () => {
    try {
      shown.textContent = make();
    } catch (error) {
      shown.textContent = `The tools are not JSON: ${error.message}`;
    }
    shown.hidden = false;
    if (navigator.clipboard) navigator.clipboard.writeText(shown.textContent).catch(() => {});
  };
  const stop = h("button", { type: "button", on: { click: () => abort && abort.abort() } }, "Stop");
  stop.disabled = true;
  const send = async (submitted) => {
    submitted.preventDefault();
    let body;
    try {
      body = bodyOf(conversation());
    } catch (error) {
      log.append(h("p", { class: "bad" }, `The tools are not JSON: ${error.message}`));
      return;
    }
    state.messages = body.messages;
    draft.prompt = "";
    document.getElementById("play-prompt").value = "";
    abort = new AbortController();
    stop.disabled = false;
    drawLog();
    const text = h("pre", {}), line = h("p", { class: "dim" });
    log.append(h("b", {}, "assistant"), text, line);
    try {
      state.messages.push(await responseOf(body, abort.signal, text, line));
      drawLog();
      log.append(line);
      const calls = state.messages.at(-1).tool_calls;
      if (calls) log.append(toolResults(calls, () => form.requestSubmit()));
    } catch (error) {
      if (!text.textContent && state.messages.at(-1).role === "user") {  // to be sent again
        draft.prompt = state.messages.pop().content;
        document.getElementById("play-prompt").value = draft.prompt;
      }
      drawLog();
      if (text.textContent) log.append(h("b", {}, "assistant"), text);
      log.append(h("p", { class: "bad", role: "alert" }, error.name === "AbortError" ? "Stopped." : error.message));
    }
    stop.disabled = true;
  };
  const form = h("form", { class: "panel", on: { submit: send } },
    h("div", { class: "grid" }, h("div", {},
      field("model", "Model", "input", { list: "models", required: "", autocomplete: "off" }), models,
      field("temperature", "Temperature", "input", { inputmode: "decimal", pattern: "[0-9.]*" })),
    h("div", {}, field("system", "System prompt", "textarea", { rows: "2" }),
      field("tools", "Tools (JSON of Chat Completions)", "textarea", { rows: "2" }))),
    field("prompt", "Prompt", "textarea", { rows: "3" }),
    h("p", {}, h("button", { class: "primary", type: "submit" }, "Send"), " ", stop, " ",
      h("button", { type: "button", on: { click: () => { state.messages = []; drawLog(); } } }, "New conversation"), " ",
      h("button", { type: "button", on: { click: copy(asCurl) } }, "Copy as curl"), " ",
      h("button", { type: "button", on: { click: copy(asPython) } }, "Copy as Python")), shown);
  drawLog();
  return h("div", {}, form, h("div", { class: "panel" }, h("h2", {}, "Conversation"), log));
}

function turn(message) {
  const calls = (message.tool_calls || []).map((call) => `${call.function.name}(${call.function.arguments})`);
  return h("div", {}, h("b", {}, message.role), h("pre", { tabindex: "0" }, [message.content || "", ...calls].filter(Boolean).join("\n")));
}

function toolResults(calls, send) {
  const inputs = calls.map((call) => h("textarea", { rows: "2", "aria-label": `Result of ${call.function.name}` }));
  const done = () => {
    calls.forEach((call, index) => state.messages.push({ role: "tool", tool_call_id: call.id, content: inputs[index].value }));
    send();
  };
  return h("div", {}, calls.map((call, index) => h("label", {}, `Result of ${call.function.name}`, inputs[index])),
    h("p", {}, h("button", { type: "button", on: { click: done } }, "Send results")));
}

async function responseOf(body, signal, text, line) {
  const started = performance.now();
  const response = await ask("/v1/chat/completions", { method: "POST", body: JSON.stringify(body), signal });
  if (!response.ok) {
    const failed = await response.json().catch(() => ({}));
    throw new Error((failed.error && failed.error.message) || `HTTP ${response.status}`);
  }
  const message = { role: "assistant", content: "" }, calls = [];
  let first = null, usage = null;
  for await (const chunk of frames(response.body)) {
    if (chunk.error) throw new Error(chunk.error.message);
    usage = chunk.usage || usage;
    const delta = chunk.choices && chunk.choices[0] ? chunk.choices[0].delta || {} : {};
    if (delta.content) {
      first = first === null ? performance.now() : first;
      message.content += delta.content;
      text.textContent = message.content;
    }
    for (const part of delta.tool_calls || []) {
      const call = (calls[part.index] = calls[part.index] || { id: "", type: "function", function: { name: "", arguments: "" } });
      call.id = part.id || call.id;
      call.function.name += (part.function && part.function.name) || "";
      call.function.arguments += (part.function && part.function.arguments) || "";
      text.textContent = calls.map((one) => `${one.function.name}(${one.function.arguments})`).join("\n");
    }
  }
  if (calls.length) message.tool_calls = calls;
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

start();
