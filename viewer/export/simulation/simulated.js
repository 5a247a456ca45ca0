// Simulates members of the study in this page when they are chosen, and hands their motion to the player as a server would.
"use strict";
const simulatedStudy = (about, bytes, fuses = null) => {
  const array = (type, [offset, length]) => new type(bytes, offset, length / type.BYTES_PER_ELEMENT);
  const runs = laneRuns(about, ([offset, length]) => new Uint8Array(bytes, offset, length), fuses);
  const members = array(Uint32Array, about.members), rowOf = new Map([...members].map((member, row) => [member, row]));
  const same = array(Float64Array, about.same), starts = array(Float64Array, about.starts), ends = array(Uint32Array, about.end);
  const choices = array(Uint32Array, about.choice), decided = array(Uint32Array, about.decided), decisions = array(Int32Array, about.decisions);
  const firsts = [0]; // of the decisions of each member
  for (const count of decided) firsts.push(firsts[firsts.length - 1] + count);
  const blocks = choices.length / members.length, ticks = Array.from({ length: runs.ticks }, (_, k) => k);
  const frames = about.frames || ticks, instants = about.instants || ticks;
  const { designs, bars } = about, tried = designs.numbers ? laneDesigns(about, runs) : null;
  const BAR = 0.02; // radius of a bar in parts of the scene's size
  let asked = 0;

  const startOf = (row) => {
    const start = same.slice();
    about.varied.forEach((place, k) => { start[place] = starts[row * about.varied.length + k]; });
    return start;
  };
  const decisionsOf = (row) => Array.from({ length: decided[row] }, (_, k) => [...decisions.subarray(3 * (firsts[row] + k), 3 * (firsts[row] + k + 1))]);

  const choiceOf = (row) => [...choices.subarray(row * blocks, (row + 1) * blocks)];
  const rowNearest = (values) => { // the member whose numbers are nearest, in parts of their ranges
    const far = (row) => {
      const start = startOf(row);
      return designs.numbers.reduce((sum, number, k) => sum + ((start[tried.placeOf(number)] - values[k]) / (number.high - number.low || 1)) ** 2, 0);
    };
    return Array.from(members, (_, row) => far(row)).reduce((best, x, row, all) => (x < all[best] ? row : best), 0);
  };

  const block = () => { // bytes one after the other, as `pack.py` has them
    const parts = [];
    let size = 0;
    return {
      add(values) {
        const at = size;
        parts.push(values);
        size += values.byteLength + (4 - values.byteLength % 4) % 4;
        return [at, values.byteLength];
      },
      bytes() {
        const all = new Uint8Array(size);
        let at = 0;
        for (const part of parts) {
          all.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
          at += part.byteLength + (4 - part.byteLength % 4) % 4;
        }
        return all.buffer;
      },
    };
  };
  const continuous = (values, width, at, count) => { // quaternions whose neighbours do not differ in sign
    for (let k = 1; k < count; k++) {
      let cosine = 0;
      for (let i = at; i < at + 4; i++) cosine += values[k * width + i] * values[(k - 1) * width + i];
      if (cosine < 0) for (let i = at; i < at + 4; i++) values[k * width + i] *= -1;
    }
  };
  const posesOf = (out) => { // of ground and of all bodies; the last one is held where a member ended
    const nodes = about.bodies.length + 1, poses = new Float32Array(7 * nodes * frames.length), { width } = about;
    frames.forEach((tick, k) => {
      poses.set([0, 0, 0, 1, 0, 0, 0], 7 * nodes * k);
      about.bodies.forEach((at, n) => {
        const to = 7 * (nodes * k + n + 1), pose = out.subarray(tick * width + at, tick * width + at + 7);
        if (pose.every(Number.isFinite)) poses.set(pose, to);
        else poses.copyWithin(to, to - 7 * nodes, to - 7 * nodes + 7);
      });
    });
    about.bodies.forEach((_, n) => continuous(poses, 7 * nodes, 7 * (n + 1) + 3, frames.length));
    return poses;
  };
  const curveOf = (out, [at, size], turned) => { // (components, instants)
    const values = new Float64Array(instants.length * size);
    instants.forEach((tick, k) => values.set(out.subarray(tick * about.width + at, tick * about.width + at + size), k * size));
    if (turned) continuous(values, size, 0, instants.length);
    return Float32Array.from({ length: values.length }, (_, i) => values[(i % instants.length) * size + Math.floor(i / instants.length)]);
  };
  const local = (out, body, point) => { // of a point of a body where a run begins, in the axes of the body
    const [x, y, z, w, a, b, c] = out.subarray(about.bodies[body], about.bodies[body] + 7), at = bars.points[point];
    const d = [out[at] - x, out[at + 1] - y, out[at + 2] - z], q = [-a, -b, -c], cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const t = cross(q, d).map((k) => 2 * k), more = cross(q, t);
    return d.map((k, i) => k + w * t[i] + more[i]);
  };
  const across = (a, b) => { // any direction that is not along a bar
    const d = a.map((x, k) => Math.abs(b[k] - x)), k = d.indexOf(Math.min(...d));
    return [0, 1, 2].map((i) => Number(i === k));
  };
  const barsOf = (out) => { // the shapes that all members have; of the other bodies bars from joint to joint
    const [cast] = about.shapes.casts, springs = bars.springs ? [...about.shapes.springs[0]] : [], varying = new Set(bars.varying);
    const drawable = (part) => part.node > 0 && part.node <= about.bodies.length && bars.carried[part.node].length > 1;
    const stays = (part, k) => !(varying.has(k) && drawable(part)) && (bars.springs || part.node <= about.bodies.length), parts = cast.filter(stays);
    const nodes = new Set(cast.filter((part, k) => varying.has(k) && drawable(part)).map((part) => part.node));
    for (const node of nodes) {
      const points = bars.carried[node].map((point) => local(out, node - 1, point)), { colour } = cast.find((part) => part.node === node);
      points.forEach((end, k) => {
        for (const start of k === 1 || points.length < 4 ? points.slice(0, k) : points.slice(0, Math.min(k, 1))) {
          if (Math.hypot(...end.map((x, i) => x - start[i])) < 1e-6 * about.size) continue;
          springs.push({ nodes: [node, node], radius: BAR * about.size, points: [start, end], axis: null, across: across(start, end) });
          parts.push({ mesh: bars.mesh, node: about.bodies.length + springs.length, path: "", colour, shadow: true, reach: about.size,
            transform: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 1] });
        }
      });
    }
    return [parts, springs];
  };
  const shapesOfMember = (row, out) => (about.casts[row] < 0 ? barsOf(out) : [about.shapes.casts[about.casts[row]], about.shapes.springs[about.casts[row]]]);
  const shapesOf = (cast, springs, pack) => { // with the meshes that they show
    const used = [...new Set(cast.map((part) => part.mesh))];
    const copy = ([offset, length]) => pack.add(new Uint8Array(bytes, offset, length));
    const meshes = used.map((k) => {
      const mesh = { ...about.shapes.meshes[k] };
      for (const name of ["vertices", "indices", "normals", "uv"]) if (mesh[name]) mesh[name] = copy(mesh[name]);
      return mesh;
    });
    return { meshes, casts: [cast.map((part) => ({ ...part, mesh: used.indexOf(part.mesh) }))], springs: [springs] };
  };
  const motionOf = (name, out, shapes, values, note) => {
    const pack = block(), { clock } = about;
    const plots = about.curves.map((where, k) => {
      const values = curveOf(out, where, about.turned[k]), finite = values.filter(Number.isFinite);
      const ends = finite.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
      return { low: ends[0], high: ends[1], curves: [pack.add(values)] };
    });
    const time = pack.add(Float32Array.from(frames, (tick) => tick * clock.every * clock.h));
    const tables = about.tables.map((rows, table) => ({ rows: rows.map((_, k) => ({ values: [values(table, k)] })) }));
    const data = { time, members: [{ name, poses: pack.add(posesOf(out)), cast: 0 }], ...shapesOf(...shapes, pack),
      sheets: { tables, plots, notes: [note] }, remarks: [] };
    return { data, bytes: pack.bytes() };
  };

  return {
    runs,
    abandon() { asked++; },
    rowOf: (name) => rowOf.get(Number(name)) ?? -1,
    recorded: (row, wanted, tell) => runs.run(startOf(row), choiceOf(row), decisionsOf(row), ends[row], wanted, tell),
    tried: async (values) => { const row = rowNearest(values); return tried.run(startOf(row), choiceOf(row), values); },
    async member(name, tell) { // null where another one was asked for meanwhile
      const row = this.rowOf(name), number = ++asked;
      if (row < 0) throw new Error(`Its motion is not in this page, nor is it simulated here; to have one with it: shiftjax export ${about.store} --html PAGE.html --member ${name}`);
      tell("It is being simulated ...");
      const run = await this.recorded(row, () => number === asked, (done) => tell(`It is being simulated: ${Math.round(100 * done)} %`));
      return run && motionOf(String(members[row]), run.out, shapesOfMember(row, run.out), (table, k) => about.tables[table][k][row], about.notes[row]);
    },
    designs: designs.numbers ? designs : null,
    numbersOf(name) { // of a design, as the member has them; null where they are not in the page
      const row = this.rowOf(name), start = row < 0 ? null : startOf(row);
      return start && designs.numbers.map((number) => start[tried.placeOf(number)]);
    },
    async design(values, tell) { // as `member`, of a design that no member has
      const row = rowNearest(values), number = ++asked;
      tell("It is being simulated ...");
      const run = await tried.run(startOf(row), choiceOf(row), values, () => number === asked, (done) => tell(`It is being simulated: ${Math.round(100 * done)} %`));
      if (!run || !run.out) { if (run) throw new Error(run.ended); return null; }
      const texts = values.map((value) => String(Number(value.toPrecision(6))));
      const undrawn = bars.springs || !about.shapes.springs[0].length ? "" : "Its springs are not drawn: their ends vary.";
      tell([run.ended, undrawn].filter(Boolean).join(" "));
      return motionOf("design", run.out, barsOf(run.out), (table, k) => (table === 0 && texts[k]) || "\u2013", run.ended);
    },
  };
};
