// The story of one URL, as /api/explain tells it.
import { clean, clock, make, size, whole } from "./figures.js";

const MARKS = new Map([[true, "yes"], [false, "no"], [null, "unknown"]]);

function list(rows) {
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function foundAt(found) {
  const source = found.referrer ? `on ${clean(found.referrer, 400)}` : "given by the user";
  return `${clock(found.found_ms, true)} as ${clean(found.kind)} ${source}; depth ${found.depth ?? 1}`;
}

function resultOf(result) {
  const parts = [`${clock(result.started_ms, true)} ${clean(result.outcome)}`];
  if (result.status) parts.push(`status ${result.status} in ${whole(result.total_ms ?? 0)} ms`, `${size(result.body_bytes ?? 0)} of ${clean(result.content_type || "no said type")}`);
  if (result.location) parts.push(`to ${clean(result.location, 400)}`);
  if (result.detail) parts.push(clean(result.detail, 400));
  return parts.join(", ");
}

function* logged(story) {
  const { discoveries: found, verdicts, orders, results, responses, order_count: ordered, result_count: answered } = story.logged;
  const gaps = Object.keys(story.logged.gaps).length > 0;
  if (!found.first) yield ["found", gaps ? "not in the records that are left" : "never"];
  else {
    yield ["found", `${found.times === 1 ? "once" : `${whole(found.times)} times`} in ${whole(found.records)} records`];
    yield ["first", foundAt(found.first)];
  }
  for (const one of verdicts) yield ["verdict", `${clock(one.decided_ms, true)} ${clean(one.kind)} by ${clean(one.reason)} (${clean(one.stage)})${one.detail ? `: ${clean(one.detail, 400)}` : ""}`];
  if (ordered > orders.length) yield ["ordered", `${whole(ordered)} times; the last ${orders.length} are shown`];
  for (const one of orders) yield ["ordered", `${clock(one.created_ms, true)} in order ${clean(one.lease)}, attempt ${one.attempt ?? 1}, visit ${one.visit ?? 0}`];
  if (answered > results.length) yield ["result", `${whole(answered)} times; the last ${results.length} are shown`];
  for (const one of results) yield ["result", resultOf(one)];
  for (const one of responses) if (one.file) yield ["archived", clean(one.file)];
  if (story.state) yield ["state", `${clean(story.state.life)}; its server has ${whole(story.state.queued ?? 0)} URLs queued and ${whole(story.state.in_flight ?? 0)} orders out`];
  if (story.paused.length) yield ["paused", `its ${story.paused.map((one) => clean(one)).join(" and its ")}`];
  if (gaps) yield ["trimmed", "older records are gone, and what they said of the URL with them"];
}

export function story(told) {
  const when = told.next.when_ms ? `: ${clock(told.next.when_ms, true)}` : "";
  const checks = told.recomputed.checks.map((check) => [clean(check.about), make("span", { class: MARKS.get(check.passes) }, clean(check.answer, 400))]);
  const place = told.canonical ? `server ${clean(told.server)}, partition ${told.partition}` : "";
  return make("div", { class: "story" },
    make("code", { "data-key": "explain.canonical" }, clean(told.canonical || told.url, 1000)),
    make("p", { class: "next", "data-key": "explain.next" }, `Next: ${clean(told.next.what, 1000)}${when}`),
    make("p", { class: "note" }, place),
    make("h3", {}, "As it was logged"), list([...logged(told)]),
    make("h3", {}, "Judged now"), list(checks));
}
