// The live page: asks the views worker every two seconds and shows what it says. All that comes from the web is text.
import { bars, clean, clock, keyed, large, make, milliseconds, rate, show, size, span, table, whole } from "./figures.js";
import { chart } from "./chart.js";
import { story } from "./story.js";

const EVERY_MS = 2000, ROWS = 25, MOST_BARS = 8;
const SPANS = [["5m", "5 min"], ["1h", "1 h"], ["24h", "24 h"], ["all", "whole crawl"]];
const COLUMNS = [["server", "Server"], ["requests", "Requests"], ["pages", "Pages"], ["", "Answers"], ["errors", "Errors"], ["refused", "Refused"],
  ["wire_bytes", "Received"], ["mean", "Mean"], ["p95", "95%"], ["depth", "Depth"], ["", "robots.txt"]];
const COLOURS = { 2: "good", 3: "moved", 4: "warn", 5: "bad" };
const chosen = { span: null, sort: "requests", order: "desc", offset: 0, find: "" };
const element = (id) => document.getElementById(id);

async function ask(path, parameters = {}) {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

function tile(title, figure, ...note) {
  return make("div", { class: "tile" }, make("h3", {}, title), make("b", {}, ...figure), make("small", {}, ...note));
}

function header(summary, status) {
  element("crawl").textContent = clean(summary.crawl);
  document.title = `${clean(summary.crawl)}: live crawl`;
  const phase = element("phase");
  phase.className = `state ${status.phase.split(" ")[0]}`;
  phase.replaceChildren(keyed("status.phase", status.phase, status.phase));
  const begun = summary.first_ms ? `since ${clock(summary.first_ms, true)}, for ${span((summary.last_ms - summary.first_ms) / 1000)}` : "no request yet";
  show("where", `on ${clean(status.where)}, ${begun}`);
  const waits = status.waits_for.map((one) => clean(one, 400));
  if (status.paused_count) waits.push(`${whole(status.paused_count)} paused servers: ${status.paused_servers.map((one) => clean(one)).join(", ")}`);
  if (status.dead_letters) waits.push(`${whole(status.dead_letters)} dead letters`);
  show("waits", waits.join(" · "));
}

function tiles(summary, status) {
  const figure = (key, value) => keyed(key, value, large(value));
  const now = status.rates[0], minute = status.rates[1];
  const lag = Object.values(status.stages).reduce((sum, stage) => sum + stage.lag, 0);
  const due = status.due_ms ? `next due ${clock(status.due_ms, true)}` : `${large(status.retrying)} to be tried again`;
  show("tiles",
    tile("URLs fetched", [figure("summary.urls.fetched", summary.urls.fetched)], figure("summary.urls.failed", summary.urls.failed), " given up"),
    tile("Rate", [keyed("status.rates.0.requests", now.requests, rate(now.requests)), make("i", {}, "/s")], `${rate(minute.requests)}/s in the last minute`),
    tile("Queued", [figure("status.queued", status.queued)], due),
    tile("In flight", [figure("status.in_flight", status.in_flight)], keyed("lag", lag, large(lag)), " records to be read"),
    tile("Received", [keyed("summary.wire_bytes", summary.wire_bytes, size(summary.wire_bytes))],
      figure("summary.requests", summary.requests), " requests, ", figure("summary.errors", summary.errors), " errors"),
    tile("Links judged", [figure("summary.links.found", summary.links.found)], figure("summary.links.new", summary.links.new), " new"),
    tile("Servers", [figure("summary.server_count", summary.server_count)], `half answered within ${milliseconds(summary.times_ms.p50)}`));
}

function stages(summary, status) {
  const lag = (key, value) => make("span", { class: value ? "lag some" : "lag" }, keyed(key, value, whole(value)));
  const rows = Object.entries(status.stages).map(([name, stage]) =>
    [make("b", {}, name), stage.members === null ? "–" : keyed(`status.stages.${name}.members`, stage.members, whole(stage.members)), lag(`status.stages.${name}.lag`, stage.lag)]);
  rows.push([make("b", {}, "views"), "1", summary.behind === null ? "…" : lag("summary.behind", summary.behind)]);
  show("stages", table(["Role", "Processes", "Lag"], rows));
  const speed = status.rates.map((one) => [`${one.seconds < 60 ? `${one.seconds} s` : `${one.seconds / 60} min`}`,
    rate(one.requests), rate(one.pages), rate(one.errors), rate(one.refused), size(one.bytes)]);
  show("speed", table(["", "Requests", "Pages", "Errors", "Refused", "Bytes"], speed));
}

function counts(summary, refusals) {
  show("statuses", bars(summary.statuses.slice(0, MOST_BARS).map((line) => ({
    label: [make("b", {}, clean(line.status)), ` ${line.meaning}`], value: line.count, colour: COLOURS[line.status[0]] ?? "none",
    shown: [keyed(`summary.statuses.${line.status}`, line.count, whole(line.count)), " ", make("em", {}, `${((line.count / summary.requests) * 100).toFixed(1)}%`)],
  })), "No request was made yet."));
  const rest = refusals.slice(MOST_BARS);
  show("refusals", bars(refusals.slice(0, MOST_BARS).map((line) => ({
    label: [make("b", {}, clean(line.reason)), ` ${line.meaning}`], value: line.count, colour: line.kind === "given-up" ? "bad" : "warn",
    shown: [keyed(`refusals.${clean(line.stage)}.${line.kind}.${clean(line.reason)}`, line.count, whole(line.count))],
    note: [`${line.kind} by the ${clean(line.stage)}`, ...(line.example ? [", such as ", make("code", {}, clean(line.example, 100))] : [])],
  })), "Nothing was refused."), ...(rest.length ? [make("p", { class: "empty" }, `${rest.length} more reasons with ${whole(rest.reduce((sum, one) => sum + one.count, 0))} URLs`)] : []));
}

function answers(line) {
  const told = Object.entries(line.statuses).map(([name, count]) => `${name} ${((count / line.requests) * 100).toFixed(1)}%`).join(", ");
  return make("span", { class: "track mix", title: told }, ...Object.entries(line.statuses).map(([name, count]) => {
    const part = make("i", { class: COLOURS[name[0]] ?? "none" });
    part.style.width = `${(count / line.requests) * 100}%`;
    return part;
  }));
}

function sum(reasons) {
  const told = Object.entries(reasons).map(([name, count]) => `${clean(name)} ${whole(count)}`).join(", ");
  return make("span", { title: told }, whole(Object.values(reasons).reduce((total, count) => total + count, 0)));
}

function serverRow(line) {
  const name = line.server ? make("code", { title: clean(line.server, 300) }, clean(line.server, 80)) : `${whole(line.servers)} others`;
  const delay = line.crawl_delay_s ? [" ", make("em", {}, `delay ${line.crawl_delay_s} s`)] : [];
  return [name, keyed(`servers.${clean(line.server, 300)}.requests`, line.requests, whole(line.requests)), whole(line.pages), answers(line), sum(line.errors), sum(line.refused),
    size(line.wire_bytes), milliseconds(line.times_ms.mean), milliseconds(line.times_ms.p95), whole(line.depth), make("span", {}, clean(line.robots), ...delay)];
}

// `asked` is what was asked for; what is chosen may be another thing by now.
function servers(told, asked) {
  const last = asked.offset + told.servers.length;
  const heads = COLUMNS.map(([key, title]) => {
    if (!key) return title;
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      chosen.order = chosen.sort === key && chosen.order === "desc" ? "asc" : "desc";
      chosen.sort = key; chosen.offset = 0;
      look();
    });
    return button;
  });
  const rows = told.servers.map(serverRow);
  if (told.others && last >= told.found && !asked.find) rows.push(serverRow(told.others));
  const shown = rows.length ? table(heads, rows) : make("p", { class: "empty" }, asked.find ? "No server has that in its name." : "No server was asked yet.");
  const at = COLUMNS.findIndex(([key]) => key === asked.sort);
  shown.querySelectorAll("th")[at]?.setAttribute("aria-sort", asked.order === "desc" ? "descending" : "ascending");
  show("servers", shown);
  show("found", `${whole(told.found)} ${asked.find ? "match" : "with a line of their own"}`);
  show("place", told.found ? `${whole(asked.offset + 1)} to ${whole(last)} of ${whole(told.found)}` : "");
  element("earlier").disabled = asked.offset === 0;
  element("later").disabled = last >= told.found;
  element("earlier").parentElement.hidden = told.found <= ROWS && asked.offset === 0;
}

function complain(text) {
  const place = element("complaint");
  place.hidden = !text;
  place.textContent = clean(text, 600);
  document.body.classList.toggle("stale", Boolean(text));
  element("pulse").classList.toggle("alive", !text);
}

async function first() {
  // A crawl that is over shows all of it, one that goes on the last minutes.
  const recent = await ask("rates", { span: "5m" });
  chosen.span = recent.windows.some((one) => one.requests) ? "5m" : "all";
}

async function refresh() {
  if (!chosen.span) await first();
  const asked = { ...chosen };
  const { sort, order, offset, find } = asked;
  const [summary, status, rates, refusals, lines] = await Promise.all([ask("summary"), ask("status"), ask("rates", { span: asked.span }),
    ask("refusals"), ask("servers", { sort, order, offset, find, limit: ROWS })]);
  header(summary, status);
  tiles(summary, status);
  stages(summary, status);
  show("spans", ...SPANS.map(([name, title]) => {
    const button = make("button", { type: "button", "aria-pressed": name === asked.span }, title);
    button.addEventListener("click", () => { chosen.span = name; look(); });
    return button;
  }));
  if (!element("chart").matches(":hover")) show("chart", ...chart(rates));
  counts(summary, refusals);
  servers(lines, asked);
  const unreadable = summary.unreadable ? ` ${whole(summary.unreadable)} records could not be read.` : "";
  show("footer", `As of ${clock(summary.now_ms, true)}, folded from the topics fetched and verdicts.${unreadable} The same figures are JSON: /api/summary, status, rates, servers, refusals, explain?url=…`);
}

let busy = false, again = false, next = 0;
async function look() {
  if (busy) { again = true; return; }
  busy = true;
  clearTimeout(next);
  try {
    await refresh();
    complain("");
  } catch (error) {
    complain(error instanceof TypeError ? `The views worker does not answer (${error.message}); trying again.` : error.message);
  }
  busy = false;
  document.body.dataset.looks = Number(document.body.dataset.looks ?? 0) + 1;
  next = setTimeout(look, again ? 0 : EVERY_MS);
  again = false;
}

async function explain(url) {
  const button = element("asking").querySelector("button");
  button.disabled = true;
  show("story", make("p", { class: "empty" }, "Reading the topics…"));
  try {
    show("story", story(await ask("explain", { url })));
  } catch (error) {
    show("story", make("p", { class: "complaint" }, clean(error.message, 600)));
  }
  button.disabled = false;
}

element("asking").addEventListener("submit", (event) => {
  event.preventDefault();
  const url = element("url").value.trim();
  if (url) { history.replaceState(null, "", `#${new URLSearchParams({ url })}`); explain(url); }
});
element("find").addEventListener("input", (event) => { chosen.find = event.target.value.trim(); chosen.offset = 0; look(); });
element("earlier").addEventListener("click", () => { chosen.offset = Math.max(0, chosen.offset - ROWS); look(); });
element("later").addEventListener("click", () => { chosen.offset += ROWS; look(); });
document.addEventListener("visibilitychange", () => { if (document.hidden) clearTimeout(next); else look(); });

const asked = new URLSearchParams(location.hash.slice(1)).get("url");
if (asked) { element("url").value = asked; explain(asked); }
look();
