// Simulates members of the study in this page when they are chosen, and hands their motion to the player as a server would.
"use strict";
const simulatedStudy = (about, bytes) => {
  const array = (type, [offset, length]) => new type(bytes, offset, length / type.BYTES_PER_ELEMENT);
  const runs = laneRuns(about, ([offset, length]) => new Uint8Array(bytes, offset, length));
  const members = array(Uint32Array, about.members), rowOf = new Map([...members].map((member, row) => [member, row]));
  const same = array(Float64Array, about.same), starts = array(Float64Array, about.starts), ends = array(Uint32Array, about.end);
  const choices = array(Uint32Array, about.choice), decided = array(Uint32Array, about.decided), decisions = array(Int32Array, about.decisions);
  const firsts = [0]; // of the decisions of each member
  for (const count of decided) firsts.push(firsts[firsts.length - 1] + count);
  const blocks = choices.length / members.length, ticks = Array.from({ length: runs.ticks }, (_, k) => k);
  const frames = about.frames || ticks, instants = about.instants || ticks;
  let asked = 0;

  const startOf = (row) => {
    const start = same.slice();
    about.varied.forEach((place, k) => { start[place] = starts[row * about.varied.length + k]; });
    return start;
  };
  const decisionsOf = (row) => Array.from({ length: decided[row] }, (_, k) => [...decisions.subarray(3 * (firsts[row] + k), 3 * (firsts[row] + k + 1))]);

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
  const shapesOf = (row, pack) => { // the cast of a member with the meshes that it shows
    const cast = about.shapes.casts[about.casts[row]], used = [...new Set(cast.map((part) => part.mesh))];
    const copy = ([offset, length]) => pack.add(new Uint8Array(bytes, offset, length));
    const meshes = used.map((k) => {
      const mesh = { ...about.shapes.meshes[k] };
      for (const name of ["vertices", "indices", "normals", "uv"]) if (mesh[name]) mesh[name] = copy(mesh[name]);
      return mesh;
    });
    return { meshes, casts: [cast.map((part) => ({ ...part, mesh: used.indexOf(part.mesh) }))], springs: [about.shapes.springs[about.casts[row]]] };
  };
  const motionOf = (row, out) => {
    const pack = block(), { clock } = about;
    const plots = about.curves.map((where, k) => {
      const values = curveOf(out, where, about.turned[k]), finite = values.filter(Number.isFinite);
      const ends = finite.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
      return { low: ends[0], high: ends[1], curves: [pack.add(values)] };
    });
    const time = pack.add(Float32Array.from(frames, (tick) => tick * clock.every * clock.h));
    const tables = about.tables.map((rows) => ({ rows: rows.map((values) => ({ values: [values[row]] })) }));
    const data = { time, members: [{ name: String(members[row]), poses: pack.add(posesOf(out)), cast: 0 }], ...shapesOf(row, pack),
      sheets: { tables, plots, notes: [about.notes[row]] }, remarks: [] };
    return { data, bytes: pack.bytes() };
  };

  return {
    runs,
    abandon() { asked++; },
    rowOf: (name) => rowOf.get(Number(name)) ?? -1,
    recorded: (row, wanted, tell) => runs.run(startOf(row), [...choices.subarray(row * blocks, (row + 1) * blocks)], decisionsOf(row), ends[row], wanted, tell),
    async member(name, tell) { // null where another one was asked for meanwhile
      const row = this.rowOf(name), number = ++asked;
      if (row < 0) throw new Error(`Its motion is not in this page, nor is it simulated here; to have one with it: shiftjax export ${about.store} --html PAGE.html --member ${name}`);
      tell("It is being simulated ...");
      const run = await this.recorded(row, () => number === asked, (done) => tell(`It is being simulated: ${Math.round(100 * done)} %`));
      return run && motionOf(row, run.out);
    },
  };
};
