// The camera, the same as in the window: it turns about a target by drags, shifts and nears it.
"use strict";
const playerCamera = (canvas, data, redraw) => {
  const { cross, plus, unit, times4, lookFrom, perspective } = playerVectors, [right, forward, up] = data.axes;
  const STEEPEST = 1.5690509975; // 89.9 degrees: straight up or down has no upright picture
  const camera = {
    target: data.centre.slice(), distance: data.camera.distance, azimuth: 0, elevation: 0,
    following: false, // whether it goes with the bodies
    from(name) { [this.azimuth, this.elevation] = data.views[name]; redraw(); },
    standard(name) { return this.azimuth === data.views[name][0] && this.elevation === data.views[name][1]; },
    reset() {
      Object.assign(this, { target: data.centre.slice(), distance: data.camera.distance });
      this.from("iso");
    },
    axes() {
      const level = Math.cos(this.elevation);
      const local = [level * Math.cos(this.azimuth), level * Math.sin(this.azimuth), Math.sin(this.elevation)];
      const back = plus(plus(right.map((x) => x * local[0]), forward, local[1]), up, local[2]);
      const x = unit(cross(up, back));
      return [x, cross(back, x), back];
    },
    seen(aspect) { // in a high, narrow window the sides stay in sight
      const [x, y, back] = this.axes(), eye = plus(this.target, back, this.distance);
      const f = Math.min(aspect, 1) / Math.tan(data.camera.angle / 2);
      return { eye, view: times4(perspective(f, aspect, this.distance / 100, this.distance * 100), lookFrom(eye, x, y, back)) };
    },
    orbit(dx, dy) {
      this.azimuth -= dx;
      this.elevation = Math.max(-STEEPEST, Math.min(STEEPEST, this.elevation + dy));
      redraw();
    },
    pan(dx, dy) { // in parts of the picture's height
      const [x, y] = this.axes(), height = 2 * this.distance * Math.tan(data.camera.angle / 2);
      this.target = plus(plus(this.target, x, -height * dx), y, height * dy);
      redraw();
    },
    zoom(factor) { this.distance = Math.max(this.distance / factor, 1e-6 * data.size); redraw(); },
  };
  let followed = null;
  camera.follow = (nodes, moving) => { // shifts the target by what the middle of the moving nodes has moved
    const now = moving.reduce((sum, n) => plus(sum, nodes[n].slice(12, 15), 1 / moving.length), [0, 0, 0]);
    if (camera.following && followed) camera.target = plus(camera.target, plus(now, followed, -1));
    followed = now;
  };
  camera.forget = () => { followed = null; }; // another member is followed from now on

  const pointers = new Map();
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => pointers.delete(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    const old = pointers.get(e.pointerId), high = canvas.clientHeight;
    if (!old) return;
    const now = [e.clientX, e.clientY], dx = now[0] - old[0], dy = now[1] - old[1];
    const other = [...pointers].find(([id]) => id !== e.pointerId);
    pointers.set(e.pointerId, now);
    if (other) { // two fingers: each carries half of the shift
      const apart = (p) => Math.hypot(p[0] - other[1][0], p[1] - other[1][1]) || 1;
      camera.zoom(apart(now) / apart(old));
      camera.pan(dx / high / 2, dy / high / 2);
    } else if (e.shiftKey || e.buttons & 6) camera.pan(dx / high, dy / high);
    else camera.orbit(4 * dx / high, 4 * dy / high);
  });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    camera.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)));
  }, { passive: false });
  return camera;
};
