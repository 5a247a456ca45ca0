// What the plots of a study share: layers of canvases, the colours of numbers and their bar, marks of members, a note at the pointer.
"use strict";
const studyColours = (ramp, columns) => {
  const BINS = 64, NONE = BINS; // the last colour is of members without a number
  const hex = (rgb) => "#" + rgb.map((x) => Math.round(255 * x).toString(16).padStart(2, "0")).join("");
  const at = (part) => {
    const k = Math.min(Math.floor(part * (ramp.length - 1)), ramp.length - 2), s = part * (ramp.length - 1) - k;
    return hex(ramp[k].map((x, i) => (1 - s) * x + s * ramp[k + 1][i]));
  };
  const colours = [...Array.from({ length: BINS }, (_, k) => at(k / (BINS - 1))), "#8a8f96"];
  let column = columns.all[0], bins = null;
  return {
    colours, BINS,
    FAILED: "#c0392b", OUT: "#c9d1da", CURRENT: "#d98c00", HOVER: "#1c2733",
    get column() { return column; },
    by(other) { column = other; bins = null; },
    bins() { // of every row
      if (!bins) bins = Uint8Array.from(column.places(), (p) => Number.isNaN(p) ? NONE : Math.min(Math.floor(p * BINS), BINS - 1));
      return bins;
    },
    of(row) { return colours[this.bins()[row]]; },
    bar(pen, x, y, wide, high) { // the column's name is written along it
      for (let k = 0; k < BINS; k++) {
        pen.fillStyle = colours[k];
        pen.fillRect(x, y + high * (1 - (k + 1) / BINS), wide, high / BINS + 0.6);
      }
      pen.fillStyle = "#42505e";
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      for (const tick of column.ticks(5)) {
        pen.fillRect(x + wide, y + high * (1 - tick.place) - 0.5, 3, 1);
        pen.fillText(tick.text.slice(0, 9), x + wide + 5, y + high * (1 - tick.place));
      }
    },
  };
};

// Transparent canvases over each other, as large as their holder; coordinates are CSS pixels.
const studyLayers = (holder, count, redraw) => {
  const canvases = Array.from({ length: count }, () => holder.appendChild(document.createElement("canvas")));
  const pens = canvases.map((canvas) => canvas.getContext("2d"));
  const size = { width: 0, height: 0 };
  const fit = () => {
    const scale = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = holder;
    if (width === size.width && height === size.height && canvases[0].width === Math.round(width * scale)) return;
    Object.assign(size, { width, height });
    canvases.forEach((canvas, k) => {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      pens[k].setTransform(scale, 0, 0, scale, 0, 0);
      pens[k].font = "11px system-ui, sans-serif";
    });
    if (width && height) redraw();
  };
  new ResizeObserver(fit).observe(holder);
  return {
    size, pens, fit,
    clear: (k) => pens[k].clearRect(0, 0, size.width, size.height),
    get hidden() { return !size.width || !size.height; },
  };
};

// Many points on a layer, as pixels: milliseconds for 50 000, where paths take a second without a graphics card.
// Groups are rows, their colour as #rrggbb, and whether they are crosses.
const studyPixels = (layers, layer, groups, across, up) => {
  const scale = devicePixelRatio || 1, pen = layers.pens[layer], { width, height } = pen.canvas;
  const image = pen.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  for (const [rows, colour, cross] of groups) {
    const r = Math.max(1, Math.round(1.3 * scale)) + (cross ? 1 : 0), end = cross ? r : r - 1;
    const bits = 0xff000000 + parseInt(colour.slice(5) + colour.slice(3, 5) + colour.slice(1, 3), 16); // red is the lowest byte
    for (const row of rows) {
      const x = Math.round(across[row] * scale), y = Math.round(up[row] * scale);
      if (x < r || y < r || x + r >= width || y + r >= height) continue;
      for (let j = -r; j <= end; j++)
        for (let i = -r; i <= end; i++) if (!cross || i === j || i === -j) pixels[(y + j) * width + x + i] = bits;
    }
  }
  const scratch = Object.assign(document.createElement("canvas"), { width, height });
  scratch.getContext("2d").putImageData(image, 0, 0);
  pen.save();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(scratch, 0, 0); // over what is there
  pen.restore();
};

const studyCross = (pen, x, y, r) => { // adds the mark of a failed member to the path
  pen.moveTo(x - r, y - r);
  pen.lineTo(x + r, y + r);
  pen.moveTo(x - r, y + r);
  pen.lineTo(x + r, y - r);
};

const studyShort = (pen, text, wide) => { // the end of a name tells more than its beginning
  if (pen.measureText(text).width <= wide) return text;
  let from = 1;
  while (from < text.length && pen.measureText("…" + text.slice(from)).width > wide) from++;
  return "…" + text.slice(from);
};

// A pointer's press, drag and release over an element, in its own pixels; `begin` answers what follows the drag, or null.
const studyDrag = (element, { begin, click, hover }) => {
  const CLOSE = 4; // pixels: less is a click
  let from = null, drag = null;
  const place = (e) => { const box = element.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  element.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || e.target.closest("button")) return;
    from = place(e);
    drag = begin(from);
    try { element.setPointerCapture(e.pointerId); } catch { /* a pointer that is gone */ }
  });
  element.addEventListener("pointermove", (e) => {
    const to = place(e);
    if (!from) hover(to);
    else if (drag && (drag.moved || Math.hypot(to[0] - from[0], to[1] - from[1]) > CLOSE)) {
      drag.moved = true;
      drag.to(to);
    }
  });
  element.addEventListener("pointerup", (e) => {
    if (from && !(drag && drag.moved)) click(place(e));
    else if (drag) drag.end();
    from = drag = null;
  });
  element.addEventListener("pointercancel", () => {
    if (drag && drag.moved) drag.end();
    from = drag = null;
  });
  element.addEventListener("pointerleave", () => { if (!from) hover(null); });
};
