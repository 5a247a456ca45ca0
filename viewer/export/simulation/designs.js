// Begins and runs designs that no member has: led from a member's start to their own numbers, then watched by their monitors, as
// `run/advance/driver.py` does it. Of partitions those are at hand that members of the page have taken.
"use strict";
const laneDesigns = (about, runs) => {
  const { designs, groups, clock, patterns } = about, CLOSED = 1e-11, LEAP = 0.6, PARTS = 8, FINEST = 512;
  const MOST = 20; // changes of a start, which converge quadratically
  let holding = null;
  const blocks = (groups.mon[1] - 2) / 3, [mon] = groups.mon, [limit] = groups.limit, [armed] = groups.armed, [at] = groups.clock;
  const placeOf = (number) => groups[number.group][0] + number.place;

  // The start of a member with other numbers, closed on its assembly; null where no way leads there.
  const led = async (start, values) => {
    const places = designs.numbers.map(placeOf), from = places.map((place) => start[place]);
    if (!designs.holding) {
      const table = start.slice();
      places.forEach((place, k) => { table[place] = values[k]; });
      return table;
    }
    holding ||= await runs.made(designs.holding);
    const { table } = holding, [q, nq] = groups.q, [gap] = groups.rep;
    table.set(start);
    for (let done = 0, part = 1 / PARTS; done < 1;) {
      const before = table.slice(), next = Math.min(1, done + part);
      places.forEach((place, k) => { table[place] = next === 1 ? values[k] : from[k] + next * (values[k] - from[k]); });
      const given = table.slice(q, q + nq);
      for (let k = 0, last = Infinity; k < MOST; k++) { // Newton's changes, until rounding is left
        holding.evaluate("project");
        if (!(table[gap] < 0.5 * last)) break;
        last = table[gap];
      }
      const far = given.reduce((most, x, k) => Math.max(most, Math.abs(table[q + k] - x)), 0);
      if (table[gap] <= CLOSED * designs.length && far <= LEAP) [done, part] = [next, Math.min(2 * part, 1 / PARTS)];
      else {
        table.set(before);
        part /= 2;
        if (part < 1 / FINEST) return null;
      }
    }
    return table.slice();
  };

  const limits = (table, s) => {
    const ratio = 1 / Math.sqrt(table[mon + 3 * s + 1]);
    table[limit + 3 * s] = designs.multiplier * Math.max(table[mon + 3 * s], 1);
    table[limit + 3 * s + 1] = (designs.trigger * ratio) ** -2;
    table[limit + 3 * s + 2] = (designs.window * ratio) ** -2;
    table.fill(1, armed + 3 * s, armed + 3 * s + 3);
  };
  const begin = (lane) => {
    const { table } = lane;
    table.fill(0, groups.acc[0], groups.acc[0] + groups.acc[1]);
    table.fill(1, armed, armed + groups.armed[1]);
    lane.evaluate("project");
    for (let s = 0; s < blocks; s++) limits(table, s);
    designs.limits.forEach((most, k) => { table[limit + 3 * blocks + k] = most; });
  };

  const other = async (lane, s) => { // of the other partitions of a substructure the one with the largest pivots
    let best = null;
    for (const program of about.programs) {
      if (program.choice[s] === lane.now[s] || program.choice.some((c, k) => k !== s && c !== lane.now[k])) continue;
      const trial = await lane.programOf(program.choice);
      trial.table.set(lane.table);
      trial.evaluate("accelerate");
      const one = { choice: program.choice[s], entries: trial.table[mon + 3 * s], condition: trial.table[mon + 3 * s + 1] };
      if (!best || one.condition < best.condition) best = one;
    }
    return best;
  };
  const better = (best, table, s, times) => Boolean(best) && Math.sqrt(table[mon + 3 * s + 1] / best.condition) >= times;
  const adopt = async (lane, s, choice) => { await lane.adopt(s, choice); limits(lane.table, s); };
  const repartition = async (lane, s, byPivot) => {
    lane.evaluate("accelerate"); // where it stands, not where the step led that tripped
    const best = await other(lane, s), { table } = lane, entries = table[mon + 3 * s];
    if ((best && !byPivot && best.entries < entries) || better(best, table, s, designs.better)) await adopt(lane, s, best.choice);
    else if (byPivot) table[armed + 3 * s + 1] = 0;
    else table[limit + 3 * s] = designs.multiplier * Math.max(2 * entries, 1);
  };
  const movedOff = (lane) => { // by the first pattern that clears the window of the pose, or that comes nearest
    const before = lane.table.slice(), left = clock.steps - lane.clock, fitting = patterns.filter((parts) => parts.length > 1 && parts.length <= left);
    const free = before.slice();
    free.fill(Infinity, limit, limit + groups.limit[1]);
    let best = null;
    for (const parts of fitting.length ? fitting : [[1]]) {
      let score = 0;
      const after = lane.tried(free, parts, (table) => {
        for (let s = 0; s < blocks; s++) score = Math.max(score, table[mon + 3 * s + 2] / before[limit + 3 * s + 2]);
        if (table[groups.trip[0]]) score = NaN;
      });
      if (Number.isNaN(score)) continue;
      if (!best || score < best.score) best = { score, after, count: parts.length };
      if (score <= 1) break;
    }
    if (!best) return false;
    best.after.set(before.subarray(limit, limit + groups.limit[1]), limit);
    lane.moved(before, best.after, best.count);
    return true;
  };

  // What a design records, and why it ended early, "" where it did not; null where nobody waits any more.
  const run = async (start, choice, values, wanted, tell) => {
    const begun = await led(start, values);
    if (!begun) return { out: null, ended: "Its loops cannot be closed on the assembly of the nearest member." };
    const lane = await runs.journey(begun, choice, wanted, tell, begin);
    let tries = 0, triedAt = -1;
    for (;;) {
      if (!await lane.onward(clock.steps)) return null;
      const { table } = lane, code = Math.round(lane.trip), [s, kind] = [Math.floor((code - 1) / 3), (code - 1) % 3];
      if (!code) return { out: lane.out, ended: "" };
      const ends = (text) => ({ out: lane.out, ended: `It ends at ${Number((clock.t0 + lane.clock * clock.h).toPrecision(6))} s: ${text}.` });
      table[groups.trip[0]] = 0;
      tries = table[at] === triedAt ? tries + 1 : 1;
      triedAt = table[at];
      if (tries > designs.tries * Math.max(1, blocks)) return ends("no step leads on");
      if (code > 3 * blocks && code <= 3 * blocks + 2) return ends(code === 3 * blocks + 1 ? "its loops come apart" : "it moves no mass");
      if (code <= 3 * blocks && kind < 2) { await repartition(lane, s, kind === 1); continue; }
      const watched = code <= 3 * blocks && table[armed + 3 * s + 1], best = watched ? (lane.evaluate("accelerate"), await other(lane, s)) : null;
      if (better(best, lane.table, s, designs.better)) await adopt(lane, s, best.choice);
      else if (!blocks || !movedOff(lane)) return ends("its numbers grow beyond all bounds");
    }
  };
  return { run, placeOf };
};
