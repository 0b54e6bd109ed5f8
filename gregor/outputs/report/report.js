"use strict";
for (const chart of document.querySelectorAll(".timeline")) {
  const told = chart.parentElement.querySelector(".legend output");
  chart.addEventListener("pointerover", (event) => {
    const column = event.target.closest("g[data-told]");
    told.textContent = column ? column.dataset.told : "";
  });
  chart.addEventListener("pointerleave", () => { told.textContent = ""; });
}
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") !== "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const by = (row) => row.cells[column].dataset.by;
    const numbers = [...table.tBodies[0].rows].every((row) => by(row) !== "" && !Number.isNaN(Number(by(row))));
    const order = numbers ? (a, b) => Number(by(a)) - Number(by(b)) : (a, b) => by(a).localeCompare(by(b));
    const rows = [...table.tBodies[0].rows].sort(order);
    table.tBodies[0].append(...(descending ? rows.reverse() : rows));
  }));
}
