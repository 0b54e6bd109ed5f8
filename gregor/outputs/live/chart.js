// Requests over time: stacked columns that stretch to any width; the words around them are HTML and stay legible.
import { clock, make, rate, size, whole } from "./figures.js";

const WIDTH = 1000, HEIGHT = 200;
const SERIES = [["good", "pages (2xx)"], ["moved", "other answers"], ["bad", "errors"]];

function drawn(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 3, 4, 5, 6, 8, 10].find((step) => power * step >= value * 0.999);
}

function paths(windows, width, top) {
  const step = WIDTH / windows.length, wide = step - Math.min(step * 0.15, 3);
  const lines = { good: "", moved: "", bad: "" };
  windows.forEach((one, number) => {
    const errors = Math.min(one.errors, one.requests), pages = Math.min(one.pages, one.requests - errors);
    let floor = HEIGHT;
    for (const [colour, count] of [["good", pages], ["moved", one.requests - pages - errors], ["bad", errors]]) {
      if (count > 0) {
        const tall = (count / width / top) * HEIGHT;
        floor -= tall;
        lines[colour] += `M${(number * step).toFixed(2)} ${floor.toFixed(2)}h${wide.toFixed(2)}v${tall.toFixed(2)}h${(-wide).toFixed(2)}z`;
      }
    }
  });
  return lines;
}

function told(one, width) {
  return `${clock(one.start_ms)} · ${rate(one.requests / width)}/s · ${whole(one.pages)} pages · ${whole(one.errors)} errors · ${size(one.wire_bytes)}`;
}

export function chart(rates) {
  const { windows, width_s: width } = rates;
  if (!windows.length) return [make("p", { class: "empty" }, "No request was made yet.")];
  const top = roundUp(Math.max(...windows.map((one) => one.requests)) / width);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "requests a second over time" });
  const here = drawn("rect", { class: "hit", y: 0, height: HEIGHT, width: WIDTH / windows.length });
  svg.append(here, drawn("path", { class: "grid", d: `M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}` }));
  for (const [colour, d] of Object.entries(paths(windows, width, top))) svg.append(drawn("path", { class: colour, d }));

  const output = make("output");
  const drawing = make("div", { class: "drawing" }, svg);
  drawing.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = Math.min(windows.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * windows.length)));
    here.setAttribute("x", (at * WIDTH) / windows.length);
    here.setAttribute("class", "hit here");
    output.textContent = told(windows[at], width);
  });
  drawing.addEventListener("pointerleave", () => { here.setAttribute("class", "hit"); output.textContent = ""; });

  const marks = [0, 1, 2].map((part) => {
    const value = (top * part) / 2;
    const mark = make("span", {}, value >= 10 ? whole(Math.round(value)) : String(Number(value.toPrecision(3))));
    mark.style.bottom = `${part * 50}%`;
    return mark;
  });
  const days = windows.at(-1).start_ms - windows[0].start_ms >= 86400000;
  const count = Math.min(5, windows.length);
  const times = Array.from({ length: count }, (_, n) => windows[Math.floor((n * (windows.length - 1)) / Math.max(count - 1, 1))]);
  return [
    make("div", { class: "legend" }, ...SERIES.map(([colour, name]) => make("span", { class: colour }, name)), output),
    make("div", { class: "timeline" }, make("div", { class: "marks" }, ...marks), drawing,
      make("div", { class: "times" }, ...times.map((one) => make("span", {}, clock(one.start_ms, days))))),
  ];
}
