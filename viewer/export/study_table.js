// The members as a table: only the rows in sight are elements, so that 50 000 of them scroll as quickly as fifty.
"use strict";
const studyTable = (holder, columns, brush, colours, page) => {
  const SPARE = 8; // rows above and below those in sight
  const scroller = holder.querySelector(".scroller"), table = holder.querySelector("table");
  const head = table.tHead.rows[0], body = table.tBodies[0], only = holder.querySelector("#only");
  let sorted = columns.all[0], falling = false, order = [], shown = [], hovered = -1, waiting = false;

  const element = (tag, where, text = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    where.append(made);
    return made;
  };
  const heads = new Map();
  element("th", head).className = "sign";
  for (const column of columns.all) {
    const cell = element("th", head), button = element("button", cell);
    element("bdi", button, column.title);
    cell.scope = "col";
    cell.className = column.role;
    button.title = `${column.name}${column.unit ? ` [${column.unit}]` : ""} (${column.role}): sort`;
    button.addEventListener("click", () => { sort(column, column === sorted && !falling); page.changed(); });
    heads.set(column, cell);
  }
  element("th", head, "reason").className = "reason";

  const height = () => parseFloat(getComputedStyle(table).getPropertyValue("--row")) || 24;
  const sort = (column, down) => {
    sorted = column;
    falling = down;
    order = column.order(falling);
    for (const [one, cell] of heads) {
      if (one === column) cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    list();
  };
  const list = () => { // which rows there are
    shown = only.checked && brush.active ? Array.from(order).filter((row) => brush.mask[row]) : Array.from(order);
    table.setAttribute("aria-rowcount", shown.length + 1);
    draw();
  };
  const line = (row, place) => {
    const tr = document.createElement("tr"), outcome = columns.outcome(row), sign = element("td", tr);
    const moves = page.moves(row);
    sign.className = "sign";
    sign.textContent = outcome.failed ? "✕" : moves ? "▶" : "●";
    sign.style.color = outcome.failed ? colours.FAILED : colours.of(row);
    sign.title = moves ? "its motion is in this page" : "";
    for (const column of columns.all) element("td", tr, column.text(column.value(row))).className = column.role;
    const reason = element("td", tr, columns.reason(row));
    reason.className = "reason";
    reason.title = columns.reason(row);
    tr.setAttribute("aria-rowindex", place + 2);
    tr.dataset.row = row;
    tr.classList.toggle("out", !brush.mask[row]);
    tr.classList.toggle("failed", outcome.failed);
    tr.classList.toggle("warned", outcome.warned);
    tr.classList.toggle("moves", moves);
    return tr;
  };
  const space = (rows, high) => {
    const tr = document.createElement("tr");
    tr.className = "space";
    tr.style.height = `${rows * high}px`;
    tr.setAttribute("aria-hidden", "true");
    return tr;
  };
  const draw = () => {
    if (!scroller.clientHeight) return;
    const high = height(), first = Math.max(0, Math.floor(scroller.scrollTop / high) - SPARE);
    const last = Math.min(shown.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / high) + SPARE);
    const rows = shown.slice(first, last).map((row, k) => line(row, first + k));
    body.replaceChildren(space(first, high), ...rows, space(Math.max(shown.length - last, 0), high));
    marks();
  };
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const marks = () => {
    for (const tr of body.rows) {
      const row = tr.dataset.row === undefined ? -1 : Number(tr.dataset.row);
      tr.classList.toggle("current", row >= 0 && row === page.current());
      tr.classList.toggle("hovered", row >= 0 && row === hovered);
      if (row >= 0) tr.setAttribute("aria-selected", row === page.current());
    }
  };
  const reveal = (row) => { // scrolls as little as brings a row in sight
    const place = shown.indexOf(row), high = height(), top = place * high, seen = scroller.clientHeight - 2 * high;
    if (place < 0 || !scroller.clientHeight) return marks();
    draw(); // it is as high as all rows from now on
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + seen) scroller.scrollTop = top - seen;
    draw();
  };
  const move = (by) => { // to the row above or below
    const place = shown.indexOf(page.current());
    const next = Math.max(0, Math.min(shown.length - 1, place < 0 ? 0 : place + by));
    if (shown.length) page.choose(shown[next]);
  };

  const rowOf = (e) => { const tr = e.target.closest("tr[data-row]"); return tr ? Number(tr.dataset.row) : -1; };
  body.addEventListener("click", (e) => { if (rowOf(e) >= 0) page.choose(rowOf(e)); });
  body.addEventListener("pointerover", (e) => page.hover(rowOf(e), null, null));
  body.addEventListener("pointerleave", () => page.hover(-1, null, null));
  scroller.addEventListener("scroll", soon);
  scroller.addEventListener("keydown", (e) => {
    const screen = Math.max(1, Math.floor(scroller.clientHeight / height()) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity }[e.key];
    if (by === undefined || e.target !== scroller) return;
    e.preventDefault();
    e.stopPropagation();
    move(by);
  });
  only.addEventListener("change", () => { scroller.scrollTop = 0; list(); page.changed(); });
  new ResizeObserver(soon).observe(scroller);
  return {
    list, draw, marks, reveal, sort,
    again() { order = sorted.order(falling); }, // by later numbers
    hover(row) { hovered = row; marks(); },
    sorting: () => (falling ? "-" : "") + sorted.name,
    get only() { return only.checked; },
    set only(on) { only.checked = on; },
  };
};
