// Where the nodes of a member are at a time: between its keys as the window has them, springs from point to point.
"use strict";
const playerMotion = (count) => { // count: of nodes that have poses; those of springs come after them
  const { cross, plus, unit, dot, turned, moved } = playerVectors;
  const before = (times, t) => { // number of the last instant not after t, but never the last of all
    let low = 0, high = Math.max(times.length - 2, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= t) low = middle; else high = middle - 1;
    }
    return low;
  };
  const ofPose = (p, w, x, y, z) => [
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, p[0], p[1], p[2], 1];
  const stretched = (spring, nodes) => { // as the window draws it: from point to point, or along an axis of the first
    const first = nodes[spring.nodes[0]], end = moved(nodes[spring.nodes[1]], spring.points[1]);
    let start = moved(first, spring.points[0]), along = plus(end, start, -1);
    if (spring.axis) {
      const axis = turned(first, spring.axis), far = dot(axis, along);
      along = axis.map((x) => far * x);
      start = plus(end, along, -1);
    }
    const z = unit(along), side = turned(first, spring.across), x = unit(plus(side, z, -dot(side, z))), y = cross(z, x);
    const wide = (v) => v.map((k) => k * spring.radius);
    return [...wide(x), 0, ...wide(y), 0, ...along, 0, ...start, 1];
  };
  const places = (member, t) => { // matrices of all nodes; neighbouring quaternions never differ in sign
    const { times, poses } = member, k = before(times, t), next = Math.min(k + 1, times.length - 1), all = [];
    const s = next > k ? Math.min(Math.max((t - times[k]) / (times[next] - times[k]), 0), 1) : 0;
    for (let n = 0; n < count; n++) {
      const a = poses.subarray((k * count + n) * 7), b = poses.subarray((next * count + n) * 7);
      const cosine = Math.min(a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6], 1);
      const angle = Math.acos(cosine), sine = Math.sin(angle);
      const [f, g] = sine > 1e-4 ? [Math.sin((1 - s) * angle) / sine, Math.sin(s * angle) / sine] : [1 - s, s];
      const q = [3, 4, 5, 6].map((i) => f * a[i] + g * b[i]), norm = Math.hypot(...q);
      all.push(ofPose([0, 1, 2].map((i) => (1 - s) * a[i] + s * b[i]), ...q.map((x) => x / norm)));
    }
    for (const spring of member.springs) all.push(stretched(spring, all));
    return all;
  };
  return { before, places };
};
