// Runs lanes of compiled programs in this page: one member at a time, along its schedule. The numbers of a lane are a column
// of a table, as `kernels/lane_program.py` names its rows; each program has a memory of its own.
"use strict";
const laneRuns = (about, codeOf, fuses = null) => { // fuses: whether relaxed multiply-adds round once here; tried where left out
  const PAGE = 65536, AT_ONCE = 256; // bytes of memory; instants that a program records before they are taken from it
  const PAUSE = 30; // ms after which the page may draw
  const { clock, groups, patterns, width, rows, quaternions } = about;
  const ticks = Math.floor(clock.steps / clock.every) + 1, [nq, nx] = [groups.q[1], groups.x[1]];
  const compiled = new Map(); // place of code in the page -> promise of it compiled
  const compile = (code) => {
    if (!compiled.has(code)) compiled.set(code, WebAssembly.compile(codeOf(code)));
    return compiled.get(code);
  };
  const placed = async (code, room, pages) => {
    const memory = new WebAssembly.Memory({ initial: pages }), stack = new WebAssembly.Global({ value: "i32", mutable: true }, room);
    const { exports } = await WebAssembly.instantiate(await compile(code), { env: { __linear_memory: memory, __stack_pointer: stack } });
    return { memory, exports };
  };
  const tryFusing = async ({ relaxed, room }) => {
    try {
      const { exports } = await placed(relaxed, room, Math.ceil(room / PAGE)), tiny = 2 ** -30;
      return exports.fma(1 + tiny, 1 - tiny, -1) === -(tiny ** 2);
    } catch {
      return false; // it does not know the instructions
    }
  };

  const made = async (program) => { // with its memory: the table of one lane, what it records, what it is called with
    fuses ??= tryFusing(program);
    const places = {}, { room } = program, code = await fuses ? program.relaxed : program.code;
    let end = room;
    for (const [name, count] of [["table", rows], ["until", 1], ["member", 1], ["out", AT_ONCE * width], ["fresh", Math.max(width, nq)],
      ["taken", 1], ["unfinished", 1]]) {
      places[name] = end;
      end += 8 * count;
    }
    const { memory, exports } = await placed(code, room, Math.ceil(end / PAGE)), doubles = (name, count) => new Float64Array(memory.buffer, places[name], count);
    const table = doubles("table", rows), until = doubles("until", 1), out = doubles("out", AT_ONCE * width);
    const unfinished = new Int32Array(memory.buffer, places.unfinished, 1), fresh = doubles("fresh", Math.max(width, nq));
    return {
      table, out,
      advance(stop, first, every) { // steps to a clock, and records at whole periods from the first of `out` on
        until[0] = stop;
        do {
          unfinished[0] = 0;
          exports.advance(places.table, 1n, 1n, 0, places.until, places.member, places.out, BigInt(first), BigInt(AT_ONCE),
            BigInt(width), BigInt(every), 0n, clock.h, clock.t0, 1n << 40n, places.taken, places.unfinished, 0n, 0n);
        } while (unfinished[0]);
      },
      evaluate(phase) { // its results in the table; those that have no rows there
        exports[phase](places.table, 1n, 1n, 0, places.fresh, clock.h, clock.t0, 0n, 0n);
        return fresh;
      },
    };
  };

  // -- a motion between both ends of steps that were moved off a singular pose, as `run/advance/interpolation.py` has it ----

  const between = (lane, a, b, s, span) => {
    const part = (state, name) => state.slice(groups[name][0], groups[name][0] + groups[name][1]);
    const put = (state, name, values) => state.set(values, groups[name][0]);
    const rates = (state, of) => { // of coordinates that change by speeds `of`
      lane.table.set(state);
      put(lane.table, "x", of);
      return lane.evaluate("drift").slice(0, nq);
    };
    const ends = [a, b].map((state) => {
      const x = part(state, "x"), dx = part(state, "dx"), first = rates(state, x), second = rates(state, dx);
      const turning = state.slice();
      put(turning, "q", first);
      const more = rates(turning, x);
      for (const at of quaternions) for (let i = at; i < at + 4; i++) second[i] += more[i];
      return { q: part(state, "q"), x, dx, first, second };
    });
    const [p, q] = ends, out = b.slice(), u = 1 - s, last = s ** 3 * (10 - 15 * s + 6 * s * s);
    const value = [1 - last, last], slope = [s * u ** 3 * (1 + 3 * s), -(s ** 3) * u * (4 - 3 * s)];
    const curve = [0.5 * s * s * u ** 3, 0.5 * s ** 3 * u * u], at = groups.q[0];
    for (let i = 0; i < nq; i++)
      out[at + i] = [0, 1].reduce((sum, k) => sum + value[k] * ends[k].q[i] + span * slope[k] * ends[k].first[i] + span * span * curve[k] * ends[k].second[i], 0);
    for (const first of quaternions) {
      const norm = Math.hypot(...out.subarray(at + first, at + first + 4));
      for (let i = first; i < first + 4; i++) out[at + i] /= norm;
    }
    const c = [(1 + 2 * s) * u * u, s * s * (3 - 2 * s), s * u * u, s * s * (s - 1)], bend = 6 * s * (s - 1) / span;
    for (let i = 0; i < nx; i++) {
      out[groups.x[0] + i] = c[0] * p.x[i] + c[1] * q.x[i] + span * (c[2] * p.dx[i] + c[3] * q.dx[i]);
      out[groups.dx[0] + i] = bend * (p.x[i] - q.x[i]) + (3 * s - 1) * (s - 1) * p.dx[i] + s * (3 * s - 2) * q.dx[i];
    }
    return out;
  };

  // -- a lane on its way ---------------------------------------------------------------------------------------------------

  // A lane from a start (rows) on, with its partitions: `out` is what it records, NaN from where it ended. `wanted` says
  // whether anybody still waits, `tell` is told the share that is done; `begin` changes the table before its first instant.
  const journey = async (start, choice, wanted = () => true, tell = () => {}, begin = () => {}) => {
    const out = new Float64Array(ticks * width).fill(NaN), loaded = new Map(), now = [...choice];
    const [at] = groups.clock, [fraction] = groups.fraction, [trip] = groups.trip;
    const programOf = async (chosen) => { // null where the page has none of those partitions
      const k = about.programs.findIndex((program) => program.choice.every((c, s) => c === chosen[s]));
      if (k >= 0 && !loaded.has(k)) loaded.set(k, await made(about.programs[k]));
      return k < 0 ? null : loaded.get(k);
    };
    let lane = await programOf(now), pause = performance.now();
    const recorded = (tick) => out.set(lane.evaluate("observe").subarray(0, width), tick * width);
    lane.table.set(start);
    begin(lane);
    recorded(0);
    return {
      out, now, programOf,
      get table() { return lane.table; },
      get clock() { return lane.table[at]; },
      get trip() { return lane.table[trip]; },
      evaluate: (phase) => lane.evaluate(phase),
      async onward(stop) { // to a step or a trip, by no more instants at once than there is room for; false where nobody waits
        while (lane.table[at] < stop && !lane.table[trip]) {
          const first = Math.floor(lane.table[at] / clock.every), target = Math.min(stop, (first + AT_ONCE - 1) * clock.every);
          lane.advance(target, first, clock.every);
          const last = Math.floor(lane.table[at] / clock.every);
          for (let tick = first + 1; tick <= last; tick++)
            out.set(lane.out.subarray((tick - first) * width, (tick - first + 1) * width), tick * width);
          if (performance.now() - pause < PAUSE) continue;
          tell(lane.table[at] / clock.steps);
          await new Promise((go) => setTimeout(go));
          if (!wanted()) return false;
          pause = performance.now();
        }
        return true;
      },
      async adopt(substructure, chosen) {
        const { table } = lane;
        now[substructure] = chosen;
        lane = await programOf(now);
        lane.table.set(table);
        lane.evaluate("accelerate");
      },
      tried(before, parts, look) { // as many steps in unequal parts, from a table on
        let done = 0;
        lane.table.set(before);
        for (const part of parts) {
          lane.table[at] = before[at] + parts.length * done;
          lane.table[fraction] = parts.length * part;
          lane.advance(lane.table[at] + parts.length * part / 2, 0, 0);
          look(lane.table);
          done += part;
        }
        lane.table[at] = before[at] + parts.length;
        lane.table[fraction] = 1;
        return lane.table.slice();
      },
      moved(before, after, count) { // what so many steps have led to; instants between their ends are interpolated
        for (let k = 1; k <= count; k++) {
          if ((before[at] + k) % clock.every) continue;
          lane.table.set(k < count ? between(lane, before, after, k / count, count * clock.h) : after);
          lane.table[at] = before[at] + k;
          recorded((before[at] + k) / clock.every);
        }
        lane.table.set(after);
      },
    };
  };

  // A lane along its decisions [step, substructure or -1, choice] to its last step. Returns what it records and the table where
  // it ends; null where nobody waits any more.
  const run = async (start, choice, decisions, end, wanted, tell) => {
    const lane = await journey(start, choice, wanted, tell);
    for (const [step, substructure, chosen] of decisions) {
      if (!await lane.onward(step)) return null;
      if (lane.trip) break;
      if (substructure >= 0) { await lane.adopt(substructure, chosen); continue; }
      const before = lane.table.slice(), parts = patterns[chosen];
      lane.moved(before, lane.tried(before, parts, () => {}), parts.length);
    }
    if (!await lane.onward(end)) return null;
    return { out: lane.out, table: lane.table.slice() };
  };
  return { run, journey, made, ticks };
};
