// Vectors of three numbers, and matrices as columns, as WebGL reads them.
"use strict";
const playerVectors = (() => {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const unit = (a) => { const n = Math.hypot(...a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  const times4 = (a, b) => {
    const c = new Float32Array(16);
    for (let j = 0; j < 16; j += 4)
      for (let i = 0; i < 4; i++)
        c[j + i] = a[i] * b[j] + a[4 + i] * b[j + 1] + a[8 + i] * b[j + 2] + a[12 + i] * b[j + 3];
    return c;
  };
  const turned = (m, v) => [0, 1, 2].map((i) => m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2]);
  const moved = (m, v) => plus(turned(m, v), [m[12], m[13], m[14]]);
  const turning = (m) => dot(cross(m.slice(0, 3), m.slice(4, 7)), m.slice(8, 11)); // below zero: a mirror image
  const lookFrom = (eye, x, y, back) =>
    [x[0], y[0], back[0], 0, x[1], y[1], back[1], 0, x[2], y[2], back[2], 0, -dot(x, eye), -dot(y, eye), -dot(back, eye), 1];
  const perspective = (f, aspect, near, far) =>
    [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
  const parallel = (half, near, far) =>
    [1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1];
  return { dot, cross, plus, unit, times4, turned, moved, turning, lookFrom, perspective, parallel };
})();
