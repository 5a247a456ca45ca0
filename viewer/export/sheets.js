// Tables and plots of one member beside the picture; `data` is what `sheets.py` makes, curves follow the time line. Members
// of further such data, with the same tables and plots, are added behind, and dropped.
"use strict";
const sheets = (root, data, floats, go) => {
  const COLOURS = ["#1f6fb4", "#c8501e", "#2c8a3c", "#8a3fa0"], WIDE = 272, HIGH = 84;
  const make = (tag, where, text = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    where.append(made);
    return made;
  };
  root.innerHTML = "<svg></svg>"; // the parser knows the name space, so that no address stands in the page
  const space = root.firstChild.namespaceURI;
  root.replaceChildren();
  const drawn = (tag, where, given) => {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    where.append(made);
    return made;
  };
  const short = (x) => Number.isFinite(x) ? String(Number(x.toPrecision(5))) : "\u2013";
  const times = floats(data.time), span = times[times.length - 1] || 1;
  const note = make("p", root);
  const cells = []; // of all rows, with the values of all members
  for (const table of data.tables) {
    const details = make("details", root), body = (details.open = table.open, make("summary", details, table.title), make("table", details));
    for (const row of table.rows) {
      const line = make("tr", body);
      make("td", line, row.name);
      cells.push([make("td", line), row]);
    }
    if (table.more) make("p", details, `and ${table.more} more`);
  }
  const plots = data.plots.map((plot) => {
    const figure = make("figure", root), caption = make("figcaption", figure, plot.name + (plot.unit ? ` [${plot.unit}]` : ""));
    const now = make("output", figure), box = drawn("svg", figure, { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
    let low, high;
    const x = (t) => WIDE * t / span, y = (value) => HIGH * (high - value) / (high - low);
    const lines = drawn("g", box, { fill: "none" }), ends = [10, HIGH - 3].map((at) => drawn("text", box, { x: 3, y: at }));
    const fit = () => { // the range of all members
      const pad = (plot.high - plot.low) * 0.06 || Math.abs(plot.high) * 0.1 || 1;
      low = plot.low - pad;
      high = plot.high + pad;
      [plot.high, plot.low].forEach((value, k) => { ends[k].textContent = short(value); });
    };
    fit();
    const cursor = drawn("line", box, { y1: 0, y2: HIGH, class: "cursor" });
    const seek = (e) => {
      const r = box.getBoundingClientRect();
      if (e.buttons & 1) go(span * Math.min(Math.max((e.clientX - r.left) / r.width, 0), 1));
    };
    box.addEventListener("pointerdown", seek);
    box.addEventListener("pointermove", seek);
    const path = (values) => { // a gap where there is no number
      let text = "", up = true;
      values.forEach((value, k) => {
        const here = Number.isFinite(value);
        if (here) text += `${up ? "M" : "L"}${x(times[k]).toFixed(2)} ${y(value).toFixed(2)}`;
        up = !here;
      });
      return text;
    };
    const curves = (given, read) => given.curves.map((where) => { // of all members, the curves of each
      const all = read(where), n = times.length;
      return plot.labels.map((_, k) => all.subarray(k * n, (k + 1) * n));
    });
    return { plot, rows: curves(plot, floats), curves, fit, lines, cursor, now, path, x };
  });
  const before = (t) => {
    let low = 0, high = Math.max(times.length - 2, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= t) low = middle; else high = middle - 1;
    }
    return low;
  };
  let member = 0, time = 0;
  const at = (t) => {
    const k = before(t), next = Math.min(k + 1, times.length - 1);
    const s = next > k ? Math.min(Math.max((t - times[k]) / (times[next] - times[k]), 0), 1) : 0;
    time = t;
    for (const { plot, rows, cursor, now, x } of plots) {
      cursor.setAttribute("x1", x(t));
      cursor.setAttribute("x2", x(t));
      now.replaceChildren(...rows[member].map((values, i) => {
        const value = s === 0 ? values[k] : s === 1 ? values[next] : (1 - s) * values[k] + s * values[next];
        const told = document.createElement("span");
        told.textContent = (plot.labels[i] ? plot.labels[i] + " " : "") + short(value);
        told.style.color = COLOURS[i % COLOURS.length];
        return told;
      }));
    }
  };
  const of = (chosen, others) => {
    member = chosen;
    note.textContent = data.notes[member];
    for (const [cell, row] of cells) cell.textContent = row.values[member] + (row.unit ? " " + row.unit : "");
    for (const { rows, lines, path } of plots) {
      lines.replaceChildren();
      for (const other of others) for (const values of rows[other]) drawn("path", lines, { d: path(values), class: "other" });
      rows[member].forEach((values, i) => drawn("path", lines, { d: path(values), stroke: COLOURS[i % COLOURS.length] }));
    }
    at(time);
  };
  const add = (more, read) => {
    data.notes.push(...more.notes);
    cells.forEach(([, row], k) => row.values.push(...more.tables.flatMap((table) => table.rows)[k].values));
    plots.forEach(({ plot, rows, curves, fit }, k) => {
      const given = more.plots[k], fresh = curves(given, read);
      rows.push(...fresh);
      if (!fresh.flat().some((values) => values.some(Number.isFinite))) return;
      [plot.low, plot.high] = [Math.min(plot.low, given.low), Math.max(plot.high, given.high)];
      fit();
    });
  };
  const drop = (k) => {
    data.notes.splice(k, 1);
    for (const [, row] of cells) row.values.splice(k, 1);
    for (const { rows } of plots) rows.splice(k, 1);
  };
  return { at, of, add, drop };
};
