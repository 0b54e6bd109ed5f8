// Figures as people read them, and elements that hold text, never markup.
const CONTROLS = /[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g;

// What strangers wrote: without characters that show nothing or turn the direction of what follows, cut in the middle when long.
export function clean(value, longest = 160) {
  const text = String(value).replace(CONTROLS, "\ufffd");
  return text.length > longest ? `${text.slice(0, longest / 2)}…${text.slice(-longest / 2)}` : text;
}

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function show(id, ...children) { document.getElementById(id).replaceChildren(...children); }

// A figure that says which key of which answer it is.
export function keyed(key, value, shown) { return make("span", { "data-key": key, "data-value": value }, shown); }

export function whole(number) { return number.toLocaleString("en-US"); }

export function large(number) {
  if (number >= 1e10) return `${(number / 1e9).toFixed(1)} G`;
  return number >= 1e7 ? `${(number / 1e6).toFixed(1)} M` : whole(number);
}

export function rate(number) { return number >= 100 ? whole(Math.round(number)) : number.toFixed(1); }

export function size(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit < 4) { count /= 1000; unit += 1; }
  return `${unit === 0 || count >= 100 ? count.toFixed(0) : count.toFixed(1)} ${units[unit]}`;
}

export function milliseconds(amount) { return amount >= 1000 ? `${(amount / 1000).toFixed(1)} s` : `${amount.toFixed(0)} ms`; }

export function span(seconds) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const told = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [length, unit] of parts) {
    if (rest >= length) { told.push(`${Math.floor(rest / length)} ${unit}`); rest %= length; }
  }
  return told.slice(0, 2).join(" ") || "0 s";
}

export function clock(ms, days = false) {
  const moment = new Date(ms);
  if (Number.isNaN(moment.getTime())) return "";
  const time = moment.toLocaleTimeString("en-GB");
  return days ? `${moment.toLocaleDateString("sv-SE")} ${time}` : time;
}

export function table(heads, rows) {
  const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

// Lines of { label, value, shown, colour, note }; the longest bar is as wide as the list.
export function bars(lines, empty) {
  if (!lines.length) return make("p", { class: "empty" }, empty);
  const most = Math.max(...lines.map((line) => line.value)) || 1;
  return make("ul", { class: "bars" }, ...lines.map((line) => {
    const filled = make("i", { class: line.colour });
    filled.style.width = `${Math.max((line.value / most) * 100, 0.4)}%`;
    return make("li", {}, make("span", { class: "label" }, ...line.label), make("span", { class: "value" }, ...line.shown),
      make("span", { class: "track" }, filled), ...(line.note ? [make("small", {}, ...line.note)] : []));
  }));
}
