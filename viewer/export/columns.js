// The numbers of all members: columns as `quantised.py` wrote them, their places on an axis from 0 to 1, ticks, texts, orders.
"use strict";
const studyColumns = (study, bytes) => {
  const NO_NUMBER = 65535, INFINITE = 65534, MINUS_INFINITE = 65533, ZERO = 65532;
  const ZERO_ROOM = 0.05; // of a logarithmic axis, below its lowest number, where zeros are
  const array = (type, [offset, length]) => new type(bytes, offset, length / type.BYTES_PER_ELEMENT);
  const members = array(Uint32Array, study.members), count = members.length;
  const status = array(Uint8Array, study.status), reasons = array(Uint16Array, study.reasons);
  const numbersOf = new Map(); // row -> what stands in the blanks of its reason
  for (let row = 0; row < count; row++)
    if (study.forms[reasons[row]].includes("\0")) numbersOf.set(row, study.blanks[numbersOf.size].split("\0"));
  const reason = (row) => study.forms[reasons[row]].split("\0").map((text, k) => (k ? numbersOf.get(row)[k - 1] : "") + text).join("");

  const plain = (x, digits) => { // a number with so many digits, without needless zeros
    if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : x > 0 ? "∞" : "−∞";
    const size = Math.abs(x), text = size >= 1e6 || size < 1e-4 ? x.toExponential(digits - 1) : x.toPrecision(digits);
    const [mantissa, power] = (text.includes("e") && size < 1e6 && size >= 1 ? x.toFixed(0) : text).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return (power ? `${short}e${Number(power)}` : short).replace("-", "−").replace("e-", "e−");
  };

  const linear = (low, high, most) => { // round numbers between two ends
    const rough = (high - low) / most, ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((k) => k * ten >= rough * 0.7), ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && ticks.length < 50; k++) ticks.push(k * step);
    return ticks;
  };
  const powers = (low, high, most) => { // powers of ten
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / most)), ticks = [];
    for (let k = first; k <= last; k += step) ticks.push(10 ** k);
    return ticks;
  };

  // What all columns have: `place` of a row is NaN where it has no number.
  const finished = (column) => {
    column.title = column.label + (column.unit ? ` [${column.unit}]` : "");
    let places = null, lacks = null;
    column.places = () => places || (places = Float32Array.from({ length: count }, (_, row) => column.placeOf(column.value(row))));
    column.lacks = () => lacks ??= column.places().some((p) => Number.isNaN(p)); // whether some have no number
    column.order = (falling) => { // rows; without a number last in both senses, ties by member
      const all = column.places(), rows = new Uint32Array(count).map((_, k) => k), sign = falling ? -1 : 1;
      return rows.sort((a, b) => {
        const one = Number.isNaN(all[a]), other = Number.isNaN(all[b]);
        return one || other ? one - other || a - b : sign * (all[a] - all[b]) || a - b;
      });
    };
    return column;
  };

  const measured = (given) => {
    const codes = array(Uint16Array, given.codes), { low, high, steps, logarithmic, whole } = given;
    const hasZero = logarithmic && codes.includes(ZERO), start = hasZero ? ZERO_ROOM : 0;
    const number = (part) => logarithmic ? low * (high / low) ** part : (1 - part) * low + part * high;
    const half = logarithmic ? 0.5 * Math.log(high / low) / steps : 0.5 * (high / steps - low / steps);
    const finest = half > 0 && !logarithmic ? Math.max(0, Math.floor(-Math.log10(2 * half))) : 0;
    const text = (x) => {
      if (Number.isNaN(x)) return "–";
      if (whole) return plain(x, 8);
      if (logarithmic) return plain(x, Math.min(6, Math.max(2, Math.floor(-Math.log10(half)))));
      if (low === high) return plain(x, 6);
      const digits = Math.abs(x) > 0 ? Math.floor(Math.log10(Math.abs(x))) + 1 + finest : 1;
      return plain(x, Math.max(1, Math.min(6, digits)));
    };
    return finished({
      ...given, text, hasZero, step: (1 - start) / steps,
      value: (row) => {
        const code = codes[row];
        if (code > 65531) {
          if (code === NO_NUMBER) return NaN;
          if (code === INFINITE) return Infinity;
          if (code === MINUS_INFINITE) return -Infinity;
          if (logarithmic && code === ZERO) return 0;
        }
        return number(Math.min(code / steps, 1));
      },
      placeOf: (x) => {
        if (Number.isNaN(x)) return NaN;
        if (logarithmic && x <= 0) return 0;
        const part = low === high ? 0.5 : logarithmic ? Math.log(x / low) / Math.log(high / low)
          : (x / 2 - low / 2) / (high / 2 - low / 2);
        return Math.min(1, Math.max(0, start + (1 - start) * part));
      },
      valueAt: (place) => hasZero && place < ZERO_ROOM ? 0 : number((place - start) / (1 - start)),
      ticks(most) {
        const marks = low === high ? [low] : logarithmic ? powers(low, high, most) : linear(low, high, most);
        const shown = (low === high || logarithmic && marks.length < 2 ? [low, high] : marks);
        const fine = shown.length > 1 ? Math.max(Math.abs(shown[0]), Math.abs(shown[shown.length - 1])) / Math.abs(shown[1] - shown[0]) : 1;
        const digits = logarithmic ? 3 : Math.min(12, Math.ceil(Math.log10(fine)) + 2);
        const ticks = [...new Set(shown)].map((x) => ({ place: this.placeOf(x), text: plain(Math.abs(x) < 1e-12 * high ? 0 : x, digits) }));
        return hasZero ? [{ place: 0, text: "0" }, ...ticks] : ticks;
      },
    });
  };

  const outcomes = study.outcomes, last = Math.max(outcomes.length - 1, 1), top = Math.max(members[count - 1], 1);
  const member = finished({ name: "member", label: "member", unit: "", role: "member", step: 1 / top, whole: true, hasZero: false,
    value: (row) => members[row], text: (x) => String(Math.round(x)), placeOf: (x) => x / top, valueAt: (place) => Math.round(place * top),
    ticks: (most) => linear(0, top, most).filter(Number.isInteger).map((x) => ({ place: x / top, text: String(x) })) });
  const word = (x) => (outcomes[Math.round(x)] || { name: "–" }).name;
  const ended = finished({ name: "status", label: "status", unit: "", role: "status", step: 1 / last, whole: true, hasZero: false,
    value: (row) => status[row], text: word, placeOf: (x) => outcomes.length > 1 ? x / last : 0.5, valueAt: (place) => place * last,
    ticks: () => outcomes.map((_, k) => ({ place: outcomes.length > 1 ? k / last : 0.5, text: word(k) })) });

  // The assembly that all paths begin with says nothing in a label.
  const roots = new Set(study.columns.filter((c) => c.role === "design").map((c) => c.name.split(":")[0]));
  const [root] = roots, common = roots.size === 1 && study.columns.some((c) => c.name.startsWith(`${root}:`)) ? `${root}:` : null;
  const labelled = (given) => ({ ...given, label: common && given.name.startsWith(common) ? given.name.slice(common.length) : given.name });
  const all = [member, ended, ...study.columns.map((given) => measured(labelled(given)))];
  const named = new Map(all.map((column) => [column.name, column]));
  const rowOf = new Map(Array.from(members, (number, row) => [number, row]));
  const columns = {
    all, named, members, count, outcomes, status, rowOf, plain,
    outcome: (row) => outcomes[status[row]],
    failed: (row) => outcomes[status[row]].failed,
    reason: (row) => reason(row) || outcomes[status[row]].cause,
    renew(fresh, block) { // later numbers of the same members in the same columns: whoever has a column has its new numbers
      const later = studyColumns(fresh, block);
      for (const column of all) Object.assign(column, later.named.get(column.name));
      Object.assign(columns, { ...later, all, named, renew: columns.renew });
    },
  };
  return columns;
};
