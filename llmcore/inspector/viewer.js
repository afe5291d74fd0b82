"use strict";
// Everything that comes from outside becomes a text node: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const ROWS = 300;

function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "on") Object.entries(value).forEach((pair) => made.addEventListener(...pair));
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function s(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function number(value) {
  return typeof value === "number" ? value.toLocaleString("en") : "–";
}

function seconds(ms) {
  if (typeof ms !== "number") return "–";
  if (ms < 1) return `${Number(ms.toPrecision(2))} ms`;
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function dollars(cost) {
  if (typeof cost !== "number") return "unknown";
  return cost === 0 || cost >= 0.01 ? `$${cost.toFixed(2)}` : `$${cost.toPrecision(2)}`;
}

function count(value, noun) {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function unit(exchange) {
  return exchange.wire.length ? "frame" : "event"; // printed events have no wire
}

function when(exchange, ms) {
  return exchange.timed ? seconds(ms) : `${unit(exchange)} ${number(ms)}`;
}

function tiles(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "tiles" }, shown.map(([name, value, kind]) =>
    h("div", {}, h("dt", {}, name), h("dd", { class: kind }, String(value)))));
}

function fold(title, open, ...children) {
  return h("details", open ? { open: "" } : {}, h("summary", {}, h("h3", {}, title)), ...children);
}

function code(value) {
  return h("pre", { tabindex: "0" }, pretty(value));
}

// -- an exchange

function renderExchange(exchange) {
  const usage = exchange.usage || {};
  const title = [exchange.name, exchange.model || exchange.provider].filter(Boolean).join(" · ");
  const failed = exchange.error ? exchange.error.kind : null;
  return h("section", { class: "exchange", "aria-label": `Exchange ${exchange.name}` },
    h("h2", {}, title || "Exchange"),
    tiles([
      ["Provider", exchange.provider], ["API", exchange.protocol], ["Finish", exchange.finish],
      ["Error", failed, "bad"],
      ["First token", exchange.timed ? seconds(exchange.first_ms) : null],
      ["Total", exchange.timed ? seconds(exchange.total_ms) : count(exchange.wire.length || exchange.events.length, unit(exchange))],
      ["Tokens in", number(usage.input_tokens)], ["Tokens out", number(usage.output_tokens)],
      ["Cost", dollars(exchange.cost)],
    ]),
    exchange.error ? h("pre", { class: "bad", tabindex: "0" }, pretty(exchange.error.data)) : null,
    exchange.lanes.length ? fold("Timeline", true, lanes(exchange)) : null,
    tokenBars(usage),
    shares("Cost", Object.entries(exchange.costs || {}), dollars),
    exchange.diagnostics && exchange.diagnostics.length
      ? fold(`Diagnostics (${exchange.diagnostics.length})`, true,
        h("ul", {}, exchange.diagnostics.map((text) => h("li", {}, text)))) : null,
    exchange.text ? fold("Response", true, code(exchange.text)) : null,
    ...exchange.stages.map(stage),
    exchange.message ? fold("Response as a value", false, code(exchange.message)) : null,
    exchange.messages ? fold("Messages of the socket", false, messages(exchange.messages)) : null,
    exchange.events.length ? fold(`Wire and events (${exchange.events.length})`, false, wire(exchange)) : null);
}

function stage(one) {
  const headers = Object.entries(one.headers || {});
  return fold(one.title, false,
    one.line ? h("p", {}, h("code", {}, one.line)) : null,
    headers.length ? h("pre", { tabindex: "0" }, headers.map((pair) => pair.join(": ")).join("\n")) : null,
    one.body !== null && one.body !== undefined ? code(one.body) : null);
}

function lanes(exchange) {
  const narrow = innerWidth < 800;
  const width = narrow ? Math.max(340, innerWidth - 60) : 900, left = narrow ? 84 : 130, row = 26, top = 8;
  const height = top + exchange.lanes.length * row + 24;
  const total = exchange.total_ms || 1;
  const x = (ms) => left + (ms / total) * (width - left - 12);
  const words = exchange.lanes.map((lane) =>
    `${lane.label}: ${when(exchange, lane.start)} to ${when(exchange, lane.end)}${lane.cut ? ", cut" : ""}`);
  const svg = s("svg", { class: "lanes", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Segments over time. ${words.join("; ")}` });
  for (const [from, to] of exchange.gaps) {
    const gap = s("rect", { class: "gap", x: x(from), y: 0, width: Math.max(x(to) - x(from), 1), height: height - 24 });
    gap.append(s("title", {}, `no event for ${seconds(to - from)}`));
    svg.append(gap);
  }
  exchange.lanes.forEach((lane, index) => {
    const y = top + index * row;
    svg.append(s("text", { x: 0, y: y + 14 }, shortened(lane.label, narrow ? 12 : 20)));
    const bar = s("rect", { class: lane.kind, x: x(lane.start), y, rx: 3,
      width: Math.max(x(lane.end) - x(lane.start), 2), height: 18 });
    bar.append(s("title", {}, words[index]));
    svg.append(bar);
    lane.ms.slice(0, 2000).forEach((ms) =>
      svg.append(s("rect", { class: "tick", x: x(ms), y: y + 5, width: 1, height: 8 })));
    if (lane.cut) svg.append(s("line", { class: "cut", x1: x(lane.end), x2: x(lane.end), y1: y - 3, y2: y + 21 }));
  });
  if (exchange.first_ms !== null) {
    const at = x(exchange.first_ms);
    svg.append(s("line", { class: "first", x1: at, x2: at, y1: 0, y2: height - 20 }));
  }
  const parts = Math.min(narrow ? 2 : 4, exchange.timed ? 4 : total);
  for (let part = 0; part <= parts; part += 1) {
    const ms = (total * part) / parts;
    const anchor = part === parts ? "end" : "middle";
    svg.append(s("text", { x: x(ms), y: height - 6, "text-anchor": anchor }, when(exchange, exchange.timed ? ms : Math.round(ms))));
  }
  const key = [["output", "text"], ["reasoning", "reasoning"], ["tool", "tool call"], ["gap", "gap"]];
  return h("div", {}, h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Timeline of exchange ${exchange.name}` }, svg), h("ul", { class: "key" },
    key.map(([name, text]) => h("li", {}, h("i", { class: name }), text)),
    h("li", { class: "dim" }, "dashed: first token; red line: cut")));
}

function tokenBars(usage) {
  const cached = usage.cache_read_tokens || 0, reasoning = usage.reasoning_tokens || 0;
  const input = Math.max((usage.input_tokens || 0) - cached, 0);
  const output = Math.max((usage.output_tokens || 0) - reasoning, 0);
  return shares("Tokens", [["input", input], ["cache", cached], ["reasoning", reasoning], ["output", output]], number);
}

function shares(title, parts, format) {
  const total = parts.reduce((sum, [, count]) => sum + count, 0);
  if (!total) return null;
  const shown = parts.filter(([, count]) => count);
  const words = shown.map(([name, count]) => `${name} ${format(count)}`);
  const bar = h("div", { class: "bar", role: "img", "aria-label": words.join(", ") },
    shown.map(([name, count]) => {
      const piece = h("span", { class: name });
      piece.style.width = `${(100 * count) / total}%`;
      return piece;
    }));
  return fold(title, true, bar, h("ul", { class: "key" },
    shown.map(([name], index) => h("li", {}, h("i", { class: name }), words[index]))));
}

function bars(title, rows, format) {
  const width = 380, left = 126, row = 24;
  const most = Math.max(...rows.map(([, value]) => value || 0), 1e-12);
  const svg = s("svg", { class: "bars", viewBox: `0 0 ${width} ${rows.length * row + 4}`, role: "img",
    "aria-label": `${title}: ${rows.map(([name, value]) => `${name} ${format(value)}`).join(", ")}` });
  rows.forEach(([name, value], index) => {
    const long = ((value || 0) / most) * (width - left - 60);
    const label = s("text", { x: 0, y: index * row + 16 }, shortened(name, 19));
    if (name.length > 19) label.append(s("title", {}, name));
    svg.append(label,
      s("rect", { class: "plot", x: left, y: index * row + 3, width: Math.max(long, 1), height: 16, rx: 3 }),
      s("text", { x: left + long + 6, y: index * row + 16 }, format(value)));
  });
  return h("div", { class: "panel" }, h("h2", {}, title), svg);
}

function eventLine(event) {
  const kind = /^(text|reasoning|tool|error)/.exec(event.type || "");
  const details = h("code", {}, event.text || JSON.stringify(event.data).slice(0, 400));
  return h("span", { class: `event ${kind ? kind[1] : ""}` }, h("b", {}, event.type || "?"), details);
}

function wire(exchange) {
  const rows = exchange.wire.length
    ? exchange.wire.map((frame) => ({ ...frame, shown: frame.events.map((index) => exchange.events[index]) }))
    : exchange.events.map((event) => ({ ms: event.ms, frame: null, shown: [event] }));
  const body = h("tbody", {});
  const add = (from, to) => rows.slice(from, to).forEach((row) => body.append(h("tr", {},
    h("td", { class: "number" }, when(exchange, row.ms)),
    h("td", {}, row.frame === null ? h("span", { class: "dim" }, "–") : h("code", {}, typeof row.frame === "string" ? row.frame : JSON.stringify(row.frame))),
    h("td", {}, row.shown.map(eventLine)))));
  add(0, ROWS);
  const table = h("table", { class: "wire stacked" },
    h("thead", {}, h("tr", {}, h("th", { class: "number" }, "Time"), h("th", {}, "Wire"), h("th", {}, "Events"))), body);
  const more = rows.length > ROWS
    ? h("button", { type: "button", on: { click: (click) => { add(ROWS); click.target.remove(); } } },
      `Show all ${number(rows.length)} rows`) : null;
  return h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Wire and events of exchange ${exchange.name}` }, table), more);
}

function messages(list) {
  return h("div", {}, list.map((message) => h("details", {},
    h("summary", {}, h("b", {}, message.role), h("span", { class: "dim" }, ` ${message.time || ""} `), shortened(message.text || "", 120)),
    code(message.data === undefined ? message.text : message.data))));
}

// -- a document

function showDocument() {
  const shown = JSON.parse(document.getElementById("document").textContent);
  const main = document.getElementById("main");
  main.replaceChildren(h("h1", {}, shown.title));
  for (const part of shown.differences || []) {
    main.append(h("section", { class: "panel" }, h("h2", {}, `Difference: ${part.title}`),
      h("pre", { class: "diff", tabindex: "0" }, part.lines.map(([mark, text]) =>
        h("span", { class: mark === "+" ? "add" : mark === "-" ? "del" : null }, `${mark} ${text}`)))));
  }
  if (shown.differences && !shown.differences.length) main.append(h("p", {}, "The files do not differ."));
  main.append(...sessions(shown.messages || []));
  const exchanges = shown.exchanges || [];
  if (exchanges.length > 1) main.append(overview(exchanges));
  main.append(...exchanges.map(renderExchange));
}

function overview(exchanges) {
  const rows = (of) => exchanges.map((one) => [[one.name, one.model].filter(Boolean).join(" · "), of(one)]);
  const tokens = (one) => ((one.usage || {}).input_tokens || 0) + ((one.usage || {}).output_tokens || 0);
  const timed = exchanges.some((one) => one.timed), priced = exchanges.some((one) => one.cost);
  return h("div", { class: "grid" }, bars("Tokens", rows(tokens), number),
    timed ? bars("Time", rows((one) => (one.timed ? one.total_ms : null)), seconds) : null,
    priced ? bars("Cost", rows((one) => one.cost), dollars) : null);
}

function sessions(list) {
  return [...new Set(list.map((message) => message.name))].map((name) => {
    const own = list.filter((message) => message.name === name);
    return h("section", { class: "panel" }, h("h2", {}, name), ...sessionBars(own), messages(own));
  });
}

function sessionBars(list) {
  const sum = (name) => list.reduce((total, message) => total + ((message.usage || {})[name] || 0), 0);
  const priced = list.filter((message) => (message.usage || {}).cost);
  return [tokenBars({ input_tokens: sum("inputTokens"), output_tokens: sum("outputTokens") }),
    priced.length ? h("p", {}, `Cost: ${dollars(sum("cost"))}`) : null].filter(Boolean);
}
