// Parallel axes: a line a member; dragging along an axis chooses a range on it, a click on a line shows its member.
"use strict";
const studyParallel = (holder, columns, brush, colours, page) => {
  const [BACK, FRONT, MARKS] = [0, 1, 2];
  const NEAR = 6, HALF = 9, EDGE = 6; // pixels to a line that is meant; half of a brush's width; to an end of a brush
  const BUDGET = 12, SLICE = 400; // milliseconds a frame for lines, and how many are drawn at once
  const layers = studyLayers(holder, 3, () => draw()), { size } = layers, names = document.createElement("div");
  names.className = "axis-names";
  holder.append(names);
  let axes = [], hovered = -1, wanted = [0, 0];

  const frame = () => {
    const left = 46, right = 46, lacking = axes.some((column) => column.lacks());
    const step = axes.length > 1 ? (size.width - left - right) / (axes.length - 1) : 0;
    return { left, top: 50, high: Math.max(size.height - 50 - (lacking ? 34 : 14), 20), step, lacking };
  };
  const xOf = (k) => frame().left + frame().step * k;
  const heights = () => { // of all members on all axes; those without a number are below
    const { top, high } = frame();
    return axes.map((column) => Float32Array.from(column.places(), (p) => Number.isNaN(p) ? top + high + 16 : top + high * (1 - p)));
  };
  let lines = [];

  // -- lines, in slices, so that the page stays quick with many members ------------------------------------------------

  const trace = (pen, row, { left, step }) => {
    pen.moveTo(left, lines[0][row]);
    if (axes.length < 2) pen.lineTo(left + 10, lines[0][row]);
    for (let k = 1; k < axes.length; k++) pen.lineTo(left + k * step, lines[k][row]);
  };
  const opacity = (count) => Math.max(0.05, Math.min(0.85, 30 / count ** 0.7));
  const strokes = (layer, rows, colourOf, alpha) => {
    const job = ++wanted[layer], pen = layers.pens[layer], at = frame();
    let done = 0;
    const some = () => {
      if (job !== wanted[layer] || layers.hidden) return;
      const until = performance.now() + BUDGET;
      pen.globalAlpha = alpha;
      pen.lineWidth = 1;
      while (done < rows.length && performance.now() < until) {
        const groups = new Map();
        for (const row of rows.slice(done, done + SLICE)) {
          const colour = colourOf(row);
          if (!groups.has(colour)) groups.set(colour, []);
          groups.get(colour).push(row);
        }
        for (const [colour, group] of groups) {
          pen.strokeStyle = colour;
          for (const row of group) { // each by itself, or overlaps of a path are drawn once only
            pen.beginPath();
            trace(pen, row, at);
            pen.stroke();
          }
        }
        done += SLICE;
      }
      pen.globalAlpha = 1;
      if (done < rows.length) requestAnimationFrame(some);
    };
    some();
  };
  const draw = () => {
    if (layers.hidden || !axes.length) return;
    lines = heights();
    layers.clear(BACK);
    label();
    strokes(BACK, [...Array(columns.count).keys()], () => "#aab4bf", opacity(columns.count) * 0.5);
    front();
  };
  const front = () => {
    if (layers.hidden || !lines.length) return;
    const rows = [], failed = [];
    for (let row = 0; row < columns.count; row++) if (brush.mask[row]) (columns.failed(row) ? failed : rows).push(row);
    layers.clear(FRONT);
    const inOrder = 10 * failed.length < rows.length ? [...rows, ...failed] : [...failed, ...rows]; // few are seen on top
    strokes(FRONT, inOrder, (row) => columns.failed(row) ? colours.FAILED : colours.of(row), opacity(inOrder.length));
    marks();
  };

  // -- axes, their names and brushes, and the lines at hand ------------------------------------------------------------

  const label = () => {
    const { left, step } = frame(), most = axes.length > 1 ? Math.min(step - 4, 170) : 170;
    names.replaceChildren(...axes.map((column, k) => {
      const name = document.createElement("button"), inner = document.createElement("bdi");
      inner.textContent = column.title.replace(/[:.]/g, "$&\u200b"); // may break there
      name.append(inner);
      name.title = `${column.name}${column.unit ? ` [${column.unit}]` : ""}: colour by it`;
      name.classList.toggle("coloured", column === colours.column);
      const wide = k > 0 && k < axes.length - 1 ? most : Math.min(most, left + step / 2 - 4); // at the edges there is less room
      name.style.width = `${wide}px`;
      name.style.left = `${Math.max(2, Math.min(xOf(k) - wide / 2, size.width - wide - 2))}px`;
      name.addEventListener("click", () => page.colourBy(column));
      return name;
    }));
  };
  const written = (pen, text, x, y) => { // on a white ground, over lines
    pen.lineWidth = 3;
    pen.strokeStyle = "rgba(255, 255, 255, .85)";
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  };
  const marks = () => {
    if (layers.hidden || !lines.length) return;
    const pen = layers.pens[MARKS], { top, high, lacking } = frame();
    layers.clear(MARKS);
    pen.textBaseline = "middle";
    axes.forEach((column, k) => {
      const x = xOf(k), last = k === axes.length - 1 && k > 0;
      pen.fillStyle = "#42505e";
      pen.fillRect(x - 0.5, top, 1, high);
      pen.textAlign = last ? "right" : "left";
      for (const tick of column.ticks(Math.max(2, Math.floor(high / 45)))) {
        const y = top + high * (1 - tick.place);
        pen.fillRect(x - 3, y - 0.5, 6, 1);
        written(pen, tick.text.slice(0, 11), x + (last ? -6 : 6), y);
      }
      if (lacking && column.lacks()) {
        pen.fillStyle = "#8390a0";
        pen.textAlign = "center";
        written(pen, "none", x, top + high + 27);
      }
      const range = brush.range(column);
      if (!range) return;
      const [low, upper] = range.map((p) => top + high * (1 - p));
      pen.fillStyle = "rgba(217, 140, 0, .25)";
      pen.strokeStyle = "#b87400";
      pen.lineWidth = 1;
      pen.fillRect(x - HALF, upper, 2 * HALF, Math.max(low - upper, 1));
      pen.strokeRect(x - HALF, upper, 2 * HALF, Math.max(low - upper, 1));
    });
    for (const [row, colour] of [[page.current(), colours.CURRENT], [hovered, colours.HOVER]]) {
      if (row < 0) continue;
      pen.strokeStyle = colour;
      pen.lineWidth = 2.2;
      pen.beginPath();
      trace(pen, row, frame());
      pen.stroke();
    }
  };

  // -- the pointer ----------------------------------------------------------------------------------------------------

  const axisAt = ([px]) => {
    const { step } = frame(), near = Math.min(18, axes.length > 1 ? step / 3 : 18);
    return axes.findIndex((_, k) => Math.abs(xOf(k) - px) <= near);
  };
  const nearest = ([px, py]) => {
    const { left, step } = frame();
    const k = Math.max(0, Math.min(axes.length - 2, Math.floor((px - left) / (step || 1)))), s = step ? (px - left) / step - k : 0;
    if (axes.length < 2 || s < 0 || s > 1) return -1;
    let best = -1, least = NEAR;
    for (let row = 0; row < columns.count; row++) {
      const far = Math.abs((1 - s) * lines[k][row] + s * lines[k + 1][row] - py) + (brush.mask[row] ? 0 : 3);
      if (far < least) { least = far; best = row; }
    }
    return best;
  };
  studyDrag(holder, {
    begin(from) {
      const k = axisAt(from), { top, high } = frame(), place = (p) => (top + high - p[1]) / high;
      if (k < 0) return null;
      const column = axes[k], range = brush.range(column), start = place(from), edge = EDGE / high;
      let anchor = start, shift = null;
      if (range && Math.abs(start - range[0]) < edge) anchor = range[1];
      else if (range && Math.abs(start - range[1]) < edge) anchor = range[0];
      else if (range && start > range[0] && start < range[1]) shift = range;
      return {
        to(to) {
          const by = shift ? Math.max(-shift[0], Math.min(1 - shift[1], place(to) - start)) : 0;
          brush.drag([[column, shift ? shift.map((p) => p + by) : [anchor, place(to)]]]);
          marks();
        },
        end: () => brush.settle(),
      };
    },
    click: (at) => {
      const k = axisAt(at), row = k < 0 ? nearest(at) : -1;
      if (row >= 0) page.choose(row);
      else if (k >= 0 && brush.range(axes[k])) brush.set(axes[k], null);
    },
    hover: (at) => {
      holder.style.cursor = at && axisAt(at) >= 0 ? "ns-resize" : "pointer";
      page.hover(at && lines.length && axisAt(at) < 0 ? nearest(at) : -1, holder, at);
    },
  });
  return { draw, front, marks, of(chosen) { axes = chosen; draw(); }, hover(row) { hovered = row; marks(); } };
};
