// Which members are chosen: those within a range on each of some columns. Everybody who shows them listens here.
"use strict";
const studyBrush = (columns) => {
  const ranges = new Map(); // column -> lower and upper place on its axis
  const mask = new Uint8Array(columns.count).fill(1), listeners = [];
  let chosen = columns.count, waiting = false;
  const changed = () => {
    waiting = false;
    mask.fill(1);
    for (const [column, [low, high]] of ranges) {
      const places = column.places(), slack = Math.min(column.step / 2, 0.01); // ends in an address have few digits
      for (let row = 0; row < mask.length; row++) // nobody without a number is in a range
        if (!(places[row] >= low - slack && places[row] <= high + slack)) mask[row] = 0;
    }
    chosen = mask.reduce((sum, one) => sum + one, 0);
    for (const listen of listeners) listen();
  };
  const put = (column, range) => {
    if (!range) ranges.delete(column);
    else ranges.set(column, [Math.max(0, Math.min(...range)), Math.min(1, Math.max(...range))]);
  };
  const ends = (column) => ranges.get(column).map((place) => column.valueAt(place));
  return {
    mask,
    get count() { return chosen; },
    get active() { return ranges.size > 0; },
    range: (column) => ranges.get(column) || null,
    set(column, range) { put(column, range); changed(); },
    setBoth(one, range, other, second) { put(one, range); put(other, second); changed(); }, // a box of a scatter plot
    drag(pairs) { // columns and ranges while a pointer moves: what follows from them once a frame
      for (const [column, range] of pairs) put(column, range);
      if (!waiting) requestAnimationFrame(() => waiting && changed());
      waiting = true;
    },
    settle() { if (waiting) changed(); }, // when the pointer is let go
    clear() { ranges.clear(); changed(); },
    listen(act) { listeners.push(act); },
    chips: () => [...ranges.keys()].map((column) => { // what is asked of each column, as a person writes it
      const [low, high] = ends(column);
      if (column.role !== "status") return { column, text: `${column.text(low)} ≤ ${column.label} ≤ ${column.text(high)}` };
      const words = columns.outcomes.map((o) => o.name).filter((_, k) => k >= low - 0.5 && k <= high + 0.5);
      return { column, text: `status: ${words.join(", ") || "none"}` };
    }),
    written: () => [...ranges.keys()].map((column) => // for the address: NAME~low~high
      [column.name, ...ends(column).map((x) => Number(x.toPrecision(7)))].join("~")),
    read(texts) {
      ranges.clear();
      for (const text of texts) {
        const parts = text.split("~"), high = Number(parts.pop()), low = Number(parts.pop());
        const column = columns.named.get(parts.join("~"));
        if (column && Number.isFinite(low) && Number.isFinite(high)) put(column, [column.placeOf(low), column.placeOf(high)]);
      }
      changed();
    },
  };
};
