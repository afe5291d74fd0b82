
// -- the gateway's page; the functions above are the inspector's

const state = { key: sessionStorage.getItem("openbridge-key") || "", seen: new Map(), requests: new Map(),
  base: "/ui/api", usage: null, view: "requests", group: "model", chosen: null, messages: [], names: new Map() };
const MOST = 500;  // requests that are listed

async function ask(path, options) {
  const headers = { "content-type": "application/json" };
  if (state.key) headers.authorization = `Bearer ${state.key}`;
  return fetch(path, { ...options, headers, cache: "no-store" });
}

async function read(path) {
  const response = await ask(path);
  if (response.status === 401 && state.key && state.base === "/ui/api" && path.startsWith(state.base)) {
    state.base = "/admin/ui";  // it may be the admin's
    const answer = await read(path.replace("/ui/api", state.base));
    loadNames();
    return answer;
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
  content = h("div", { role: "tabpanel", id: "view" });
  status = h("p", { class: "dim", role: "status" });
  tabs = h("nav", { role: "tablist" }, VIEWS.map(([name, title]) => h("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", on: { click: () => show(name) } }, title)));
  tabs.addEventListener("keydown", (pressed) => {
    const at = VIEWS.findIndex(([name]) => name === state.view);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + VIEWS.length, Home: 0, End: VIEWS.length - 1 }[pressed.key];
    if (to === undefined) return;
    pressed.preventDefault();  // the page does not scroll to its end
    const next = VIEWS[to % VIEWS.length][0];
    show(next);
    document.getElementById(`tab-${next}`).focus();
  });
  document.addEventListener("keydown", (pressed) => { if (pressed.key === "Escape" && state.chosen) backToList(); });
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
  content.setAttribute("aria-labelledby", `tab-${name}`);
  render();
}

function render() {
  if (state.view === "requests" && !state.chosen) drawRequests();
  if (state.view === "plots") drawPlots();
  if (state.view === "health") renderHealth();
  if (state.view === "playground") content.replaceChildren(playground());
}

function isAdmin() {
  return state.base !== "/ui/api";
}

async function loadNames() {  // of issued keys, which rows of spend name by their ids
  const found = await read("/admin/keys").catch(() => ({ data: [] }));
  for (const one of found.data) state.names.set(one.id, one.name);
  if (state.view !== "playground") render();
}

function keyName(id) {
  return state.names.get(id) || id;
}

function askForKey() {
  const input = h("input", { type: "password", autocomplete: "off", id: "key" });
  const send = (submitted) => {
    submitted.preventDefault();
    state.key = input.value.trim();
    state.base = "/ui/api";
    built = null;
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
    for (const one of found.requests) {
      state.requests.set(one.id, one);
      if (one.key_name) state.names.set(one.key, one.key_name);
    }
    for (const one of newest().slice(MOST)) state.requests.delete(one.id);
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

const shownRows = new WeakMap();

function requestColumns() {  // title, class, cell; "less" is not shown on a telephone, "more" only there
  const key = ["Key", "less", (one) => keyName(one.key)];
  return [
    ["Time", "nowrap", (one) => new Date(one.at * 1000).toLocaleTimeString()],
    ["Model", "title", (one) => [].concat(one.model || [h("span", { class: "less" }, "–"), h("span", { class: "more dim" }, one.path)], h("span", { class: "dim" }, ` ${one.provider}`))],
    ...(isAdmin() ? [key] : []),
    ["Path", "path less", (one) => h("code", {}, one.path)],
    ["Status", "", (one) => h("span", { class: one.state === "failed" ? "bad" : null, title: one.error }, statusText(one))],
    ["First byte", "number less", (one) => (one.first_s === null ? "–" : seconds(one.first_s * 1000))],
    ["Total", "number", (one) => (one.seconds === null ? "–" : seconds(one.seconds * 1000))],
    ["Tokens in", "number less", (one) => number(one.usage.input_tokens)],
    ["Tokens out", "number less", (one) => number(one.usage.output_tokens)],
    ["Cost", "number", costText],
    ["", "act", (one) => h("button", { type: "button", "aria-label": `Show request ${one.id}`, on: { click: () => inspect(one) } }, "Show")],
  ];
}

function costText(one) {
  return one.state === "running" || (one.cost === null && one.state === "failed") ? "–" : dollars(one.cost);
}

function statusText(one) {
  if (one.state === "running") return "running";
  if (one.status === null) return "cancelled";
  return one.state === "failed" && one.status < 400 ? `${one.status}, failed` : String(one.status);
}

function drawRequests() {
  const list = newest();
  if (!list.length) {
    content.replaceChildren(h("p", { class: "panel dim" }, "No requests yet. They appear here as they happen."));
    return;
  }
  const columns = requestColumns();
  let table = document.getElementById("requests");
  if (!table || table.rows[0].cells.length !== columns.length) {
    table = h("table", { class: "narrow", id: "requests" },
      h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h(title ? "th" : "td", { class: kind }, title)))), h("tbody", {}));
    content.replaceChildren(h("div", { class: "scroll tall panel", tabindex: "0", role: "region", "aria-label": "Requests" }, table));
  }
  const body = table.tBodies[0], rows = list.map((one) => {
    if (!shownRows.has(one) || shownRows.get(one).cells.length !== columns.length) {
      shownRows.set(one, h("tr", {}, columns.map(([, kind, cell]) => h("td", { class: kind }, cell(one)))));
    }
    return shownRows.get(one);
  });
  const wanted = new Set(rows), focused = body.contains(document.activeElement) ? document.activeElement.ariaLabel : null;
  for (const row of [...body.rows]) if (!wanted.has(row)) row.remove();
  rows.forEach((row, index) => { if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] || null); });
  const again = focused && !body.contains(document.activeElement) && body.querySelector(`[aria-label="${CSS.escape(focused)}"]`);
  if (again) again.focus({ preventScroll: true });
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

function backToList() {
  const left = state.chosen;
  show("requests");
  const button = content.querySelector(`[aria-label="Show request ${CSS.escape(left)}"]`);
  if (button) button.focus();
}

async function inspect(one) {
  state.chosen = one.id;
  const back = h("button", { type: "button", on: { click: backToList } }, "Back to all requests");
  content.replaceChildren(back);
  if (one.error) content.append(h("pre", { class: "bad" }, one.error));
  if (one.tried.length) content.append(h("p", {}, `Failed before ${one.provider} was asked: ${one.tried.join("; ")}`));
  if (one.diagnostics) content.append(h("p", {}, `Diagnostics: ${one.diagnostics}`));
  back.focus();
  if (!one.recorded) {
    content.append(h("section", { class: "exchange" }, h("h2", {}, [one.id, one.model].filter(Boolean).join(" · ")), facts(one),
      h("p", { class: "dim" }, one.state === "running" ? "The request is running: its content can be shown when it has ended."
        : "The content of this request is not kept. With OPENBRIDGE_UI_RECORD=true, or ui_record = true in [server] of openbridge.toml, the gateway keeps requests and responses.")));
    return;
  }
  try {
    const shown = renderExchange(await found(`${state.base}/requests/${encodeURIComponent(one.id)}`));
    if (state.chosen === one.id) content.append(shown);
  } catch (error) {
    content.append(h("p", { class: "panel" }, error.message));
  }
}

function facts(one) {
  return tiles([["Provider", one.provider], ["Path", one.path], ["Status", statusText(one), one.state === "failed" ? "bad" : null],
    ["First byte", one.first_s === null ? "–" : seconds(one.first_s * 1000)], ["Total", one.seconds === null ? "–" : seconds(one.seconds * 1000)],
    ["Tokens in", number(one.usage.input_tokens)], ["Tokens out", number(one.usage.output_tokens)], ["Cost", costText(one)], ["Key", keyName(one.key)]]);
}

// -- plots

function day(one) {
  return new Date(one.at * 1000).toISOString().slice(0, 10);
}

function grouped(list, group) {
  const groups = new Map();
  for (const one of list) {
    const name = group === "day" ? day(one) : group === "key" ? keyName(one.key) : one.model || "(none)";
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
  const rows = (of) => state.usage.rows.slice(0, 31).map((one) => [keyName(String(one[state.group])), of(one)]);
  if (!state.usage.rows.length) return [];
  const unpriced = state.usage.rows.reduce((total, one) => total + one.unpriced, 0);
  const note = h("p", { class: "dim" }, `The cost of ${number(unpriced)} response${unpriced === 1 ? "" : "s"} is unknown and not in the sums.`);
  return [h("h2", {}, "The last 30 days, of all keys"), ...(unpriced ? [note] : []), h("div", { class: "grid" },
    bars("Spend", rows((one) => (one.unpriced && !one.cost_usd ? null : one.cost_usd)), dollars),
    bars("Tokens", rows((one) => one.input_tokens + one.output_tokens), number),
    bars("Responses", rows((one) => one.responses), number),
    bars("Failed responses", rows((one) => one.failed), number))];
}

function drawPlots() {
  const choice = h("select", { id: "group", on: { change: (event) => { state.group = event.target.value; drawPlots(); } } },
    ["model", "key", "day"].map((name) => h("option", { value: name, ...(name === state.group ? { selected: "" } : {}) }, name)));
  if (!document.getElementById("plots")) content.replaceChildren(h("label", {}, "By", choice), h("div", { id: "plots" }));
  document.getElementById("plots").replaceChildren(...plots());
}

function spent(list) {  // null is unknown; NaN where nothing was answered
  if (list.some((one) => one.cost !== null)) return list.reduce((total, one) => total + (one.cost || 0), 0);
  return list.some((one) => one.state === "done") ? null : NaN;
}

function plots() {
  const ended = newest().filter((one) => one.state !== "running");
  if (!ended.length && !isAdmin()) return [h("p", { class: "panel dim" }, "No requests yet.")];
  const groups = grouped(ended, state.group);
  const sum = (list, of) => list.reduce((total, one) => total + (of(one) || 0), 0);
  const rows = (of) => groups.map(([name, list]) => [name, of(list)]);
  const ms = (value) => (value === null ? "–" : seconds(value * 1000));
  const money = (value) => (Number.isNaN(value) ? "–" : dollars(value));
  const unknown = ended.filter((one) => one.cost === null && one.state === "done").length;
  const recent = ended.length ? [
    h("p", { class: "dim" }, `Of the last ${count(ended.length, "request")} of this process${isAdmin() || !state.key ? "" : " with this key"}.${unknown ? ` The cost of ${number(unknown)} is unknown and not in the sums.` : ""}`),
    h("div", { class: "grid" },
      bars("Spend", rows(spent), money),
      bars("Tokens", rows((list) => sum(list, (one) => (one.usage.input_tokens || 0) + (one.usage.output_tokens || 0))), number),
      bars("Time to the first byte, median", rows((list) => quantile(list.map((one) => one.first_s), 0.5)), ms),
      bars("Total time, 95th percentile", rows((list) => quantile(list.map((one) => one.seconds), 0.95)), ms),
      bars("Requests", rows((list) => list.length), number),
      bars("Failures", rows((list) => list.filter((one) => one.state === "failed").length), number))] : [];
  const old = isAdmin() ? stored() : [];
  return recent.length || old.length ? [...recent, ...old] : [h("p", { class: "panel dim" }, "No requests yet.")];
}

// -- health

const UPSTREAM_COLUMNS = ["Upstream", "State", "Requests", "Failed", "First byte, median", "Last failure"], NUMBERS = new Set([2, 3, 4]);

function upstreamState(health) {
  if (!health || health.state === "ok") return "ok";
  const left = health.seconds ? `, ${number(Math.ceil(health.seconds))} s left` : "";
  return { cooling: `cooling down${left}`, open: `circuit open${left}` }[health.state] || health.state;
}

function upstreamRow(name, health, list) {
  const failed = list.filter((one) => one.state === "failed"), state_ = upstreamState(health);
  const last = failed.length ? `${new Date(failed[0].at * 1000).toLocaleTimeString()} ${failed[0].error || statusText(failed[0])}` : ((health && health.reason) || "–").replaceAll("_", " ");
  const first = quantile(list.map((one) => one.first_s), 0.5);
  const target = name.includes("/");  // a model of an upstream, whose requests count there
  const cells = [name, state_, target ? "" : number(list.length), target ? "" : number(failed.length), target || first === null ? "" : seconds(first * 1000), last];
  const bad = [false, state_ !== "ok", false, failed.length > 0];
  return h("tr", {}, cells.map((text, index) => h("td", { "data-label": UPSTREAM_COLUMNS[index],
    class: `${NUMBERS.has(index) ? "number" : index ? "" : "nowrap"} ${bad[index] ? "bad" : ""}` }, text)));
}

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
  const focused = content.contains(document.activeElement) ? document.activeElement.tagName : null;
  const ended = newest().filter((one) => one.state !== "running"), upstreams = found.health.upstreams || {};
  const names = [...new Set([...Object.keys(upstreams), ...ended.map((one) => one.provider).filter(Boolean)])].sort();
  const rows = names.map((name) => upstreamRow(name, upstreams[name], ended.filter((one) => one.provider === name)));
  content.replaceChildren(
    tiles([["Status", found.health.status, found.health.status === "ok" ? null : "bad"], ["Version", found.version.version],
      ["Upstream", found.version.upstream], ["Store", found.version.state.backend], ["Recording", found.recording ? "on" : "off"]]),
    rows.length ? h("div", { class: "panel scroll tall", tabindex: "0", role: "region", "aria-label": "Upstreams" }, h("table", { class: "stacked" },
      h("thead", {}, h("tr", {}, UPSTREAM_COLUMNS.map((title, index) => h("th", { class: NUMBERS.has(index) ? "number" : null }, title)))),
      h("tbody", {}, rows))) : h("p", { class: "dim" }, "No upstream was asked yet."),
    h("div", { class: "panel" }, h("details", open ? { open: "" } : {}, h("summary", {}, h("b", {}, "Configuration")), code(found.version))));
  const again = focused && content.querySelector(focused.toLowerCase());
  if (again) again.focus({ preventScroll: true });
}

start();
