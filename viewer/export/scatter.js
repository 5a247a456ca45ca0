// Two columns over each other, coloured by a third; dragging a box chooses members, a click shows one.
"use strict";
const studyScatter = (holder, columns, brush, colours, page) => {
  const [BACK, FRONT, MARKS] = [0, 1, 2]; // layers: everybody in grey, the chosen ones, what is at the pointer
  const NEAR = 9; // pixels to a member that is meant
  const MANY = 5000; // members that are drawn as pixels, not as paths
  const layers = studyLayers(holder, 3, () => draw()), { size } = layers;
  let x = columns.all[0], y = columns.all[1], across = null, up = null, hovered = -1;

  // -- where everybody is: members without a number stand in a strip beside the axes ----------------------------------

  const frame = () => {
    const left = 62 + (x.lacks() ? 26 : 0), bottom = 40 + (y.lacks() ? 24 : 0), narrow = size.width < 480;
    return { left, top: 12, wide: Math.max(size.width - left - (narrow ? 58 : 74), 20), high: Math.max(size.height - 12 - bottom, 20) };
  };
  const scattered = (row) => ((row * 7919) % 17) / 17 - 0.5; // in a strip, so that not all are on one line
  const settle = () => {
    const { left, top, wide, high } = frame(), one = x.places(), other = y.places(), r = 6;
    across = Float32Array.from(one, (p, row) => Number.isNaN(p) ? left - 22 + 12 * scattered(row) : left + r + p * (wide - 2 * r));
    up = Float32Array.from(other, (p, row) => Number.isNaN(p) ? top + high + 20 + 12 * scattered(row) : top + high - r - p * (high - 2 * r));
  };
  const placeAt = ([px, py]) => { // of a pixel on both axes
    const { left, top, wide, high } = frame(), r = 6;
    return [(px - left - r) / (wide - 2 * r), (top + high - r - py) / (high - 2 * r)];
  };
  const pixels = (column, range, along) => {
    const { left, top, wide, high } = frame(), r = 6;
    return range.map((p) => along ? left + r + p * (wide - 2 * r) : top + high - r - p * (high - 2 * r));
  };
  const nearest = ([px, py]) => {
    let best = -1, least = NEAR * NEAR;
    for (let row = 0; row < columns.count; row++) {
      const far = (across[row] - px) ** 2 + (up[row] - py) ** 2 + (brush.mask[row] ? 0 : 25);
      if (far < least) { least = far; best = row; }
    }
    return best;
  };

  // -- drawing --------------------------------------------------------------------------------------------------------

  const radius = () => columns.count > MANY ? 1.3 : columns.count > 1500 ? 2.1 : columns.count > 300 ? 2.9 : 4;
  const spots = (pen, rows, colour) => {
    const r = radius();
    pen.fillStyle = colour;
    pen.beginPath();
    for (const row of rows) {
      pen.moveTo(across[row] + r, up[row]);
      pen.arc(across[row], up[row], r, 0, 7);
    }
    pen.fill();
  };
  const crosses = (pen, rows, colour) => {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const row of rows) studyCross(pen, across[row], up[row], Math.max(radius(), 2));
    pen.stroke();
  };
  const put = (layer, groups, shades, failed, red) => { // points of each group in its colour, then crosses
    if (columns.count > MANY) {
      studyPixels(layers, layer, [...groups.map((rows, k) => [rows, shades[k], false]), [failed, red, true]], across, up);
      return;
    }
    groups.forEach((rows, k) => { if (rows.length) spots(layers.pens[layer], rows, shades[k]); });
    crosses(layers.pens[layer], failed, red);
  };
  const axes = (pen) => {
    const { left, top, wide, high } = frame();
    pen.fillStyle = "#fff";
    pen.fillRect(left, top, wide, high);
    pen.strokeStyle = "#c8d1db";
    pen.lineWidth = 1;
    pen.strokeRect(left - 0.5, top - 0.5, wide + 1, high + 1);
    pen.fillStyle = "#5b6876";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (const tick of x.ticks(Math.max(2, Math.floor(wide / 90)))) {
      const [at] = pixels(x, [tick.place], true);
      pen.fillStyle = "#eef2f6";
      pen.fillRect(at - 0.5, top, 1, high);
      pen.fillStyle = "#5b6876";
      pen.fillText(tick.text, at, size.height - 28);
    }
    pen.textAlign = "right";
    for (const tick of y.ticks(Math.max(2, Math.floor(high / 50)))) {
      const [at] = pixels(y, [tick.place], false);
      pen.fillStyle = "#eef2f6";
      pen.fillRect(left, at - 0.5, wide, 1);
      pen.fillStyle = "#5b6876";
      pen.fillText(tick.text.slice(0, 11), left - (x.lacks() ? 36 : 6), at);
    }
    strips(pen, left, top, wide, high);
    pen.fillStyle = "#1c2733";
    pen.textAlign = "center";
    pen.fillText(studyShort(pen, x.title, wide), left + wide / 2, size.height - 11);
    pen.save();
    pen.translate(10, top + high / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(studyShort(pen, y.title, high), 0, 0);
    pen.translate(0, size.width - 15);
    pen.fillText(studyShort(pen, colours.column.title, high), 0, 0);
    pen.restore();
    colours.bar(pen, left + wide + 10, top, 9, high);
  };
  const strips = (pen, left, top, wide, high) => { // where those are that have no number on an axis
    pen.fillStyle = "#e7ebf0";
    if (x.lacks()) pen.fillRect(left - 32, top, 22, high + (y.lacks() ? 30 : 0));
    if (y.lacks()) pen.fillRect(left - (x.lacks() ? 32 : 0), top + high + 10, wide + (x.lacks() ? 32 : 0), 20);
    pen.fillStyle = "#8390a0";
    pen.textAlign = "right";
    if (y.lacks()) pen.fillText("none", left - (x.lacks() ? 36 : 6), top + high + 20);
    pen.textAlign = "center";
    if (x.lacks()) pen.fillText("none", left - 21, size.height - 28);
  };
  const draw = () => {
    if (layers.hidden) return;
    settle();
    layers.clear(BACK);
    axes(layers.pens[BACK]);
    const all = [...Array(columns.count).keys()];
    put(BACK, [all.filter((row) => !columns.failed(row))], [colours.OUT], all.filter((row) => columns.failed(row)), "#e3c4bf");
    front();
  };
  const front = () => { // the chosen members, by colour
    if (layers.hidden || !across) return;
    const bins = colours.bins();
    layers.clear(FRONT);
    const groups = colours.colours.map(() => []), failed = [];
    for (let row = 0; row < columns.count; row++)
      if (brush.mask[row]) (columns.failed(row) ? failed : groups[bins[row]]).push(row);
    put(FRONT, groups, colours.colours, failed, colours.FAILED);
    marks();
  };
  const ring = (pen, row, r, colour, wide) => {
    pen.strokeStyle = colour;
    pen.lineWidth = wide;
    pen.beginPath();
    pen.arc(across[row], up[row], r, 0, 7);
    pen.stroke();
  };
  const marks = () => {
    if (layers.hidden || !across) return;
    const pen = layers.pens[MARKS], { left, top, wide, high } = frame(), r = radius();
    layers.clear(MARKS);
    for (const row of page.moving()) ring(pen, row, r + 2, "rgba(28, 39, 51, .75)", 1);
    if (brush.range(x) || brush.range(y)) {
      const [x0, x1] = brush.range(x) ? pixels(x, brush.range(x), true) : [left, left + wide];
      const [y1, y0] = brush.range(y) ? pixels(y, brush.range(y), false) : [top + high, top];
      outlined(pen, x0, y0, x1, y1);
    }
    if (page.current() >= 0) ring(pen, page.current(), r + 4, colours.CURRENT, 2.5);
    if (hovered >= 0) ring(pen, hovered, r + 4, colours.HOVER, 1.5);
  };
  const outlined = (pen, x0, y0, x1, y1) => {
    pen.fillStyle = "rgba(217, 140, 0, .08)";
    pen.strokeStyle = "#d98c00";
    pen.lineWidth = 1;
    pen.fillRect(x0, y0, x1 - x0, y1 - y0);
    pen.strokeRect(x0, y0, x1 - x0, y1 - y0);
  };

  // -- the pointer ----------------------------------------------------------------------------------------------------

  studyDrag(holder, {
    begin: (from) => ({
      to(to) {
        const one = placeAt(from), other = placeAt(to);
        brush.drag([[x, [one[0], other[0]]], [y, [one[1], other[1]]]]);
        marks();
      },
      end: () => brush.settle(),
    }),
    click: (at) => {
      const row = nearest(at);
      if (row >= 0) page.choose(row);
      else if (brush.range(x) || brush.range(y)) brush.setBoth(x, null, y, null);
    },
    hover: (at) => page.hover(at && across ? nearest(at) : -1, holder, at),
  });
  return {
    draw, front, marks,
    of(one, other) { x = one; y = other; draw(); },
    hover(row) { hovered = row; marks(); },
    at: (row) => [across[row], up[row]],
  };
};
