// Plays the scene of this page with WebGL2: Phong light with one shadow map, a grid, an orbiting camera, a time line.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const state = (word) => { document.body.dataset.state = word; };
  const fail = (text) => {
    $("message").textContent = text;
    $("message").hidden = false;
    $("bar").hidden = true;
    state("failed");
  };
  addEventListener("error", (e) => fail("This page's player has stopped: " + e.message));

  // -- data: arrays stand in one block of bytes, as offset and length --------------------------------------------------

  const data = JSON.parse($("data").textContent);
  const bytes = (() => {
    const text = atob($("binary").textContent);
    const block = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) block[i] = text.charCodeAt(i);
    return block.buffer;
  })();
  const floats = ([offset, length]) => new Float32Array(bytes, offset, length / 4);
  const numbers = ([offset, length]) => new Uint32Array(bytes, offset, length / 4);
  const times = floats(data.time);
  const last = times[times.length - 1];
  const members = data.members.map((m) => ({ name: m.name, poses: floats(m.poses), parts: data.casts[m.cast],
    springs: data.springs[m.cast], shown: true }));
  const [right, forward, up] = data.axes;

  // -- vectors, and matrices as columns, as WebGL reads them -----------------------------------------------------------

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

  // -- motion ----------------------------------------------------------------------------------------------------------

  const before = (t) => { // number of the last instant not after t, but never the last of all
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
  const places = (member, t) => { // matrices of all nodes; neighbouring quaternions never differ in sign
    const k = before(t), next = Math.min(k + 1, times.length - 1), all = [];
    const s = next > k ? Math.min(Math.max((t - times[k]) / (times[next] - times[k]), 0), 1) : 0;
    for (let n = 0; n < data.nodes; n++) {
      const a = member.poses.subarray((k * data.nodes + n) * 7), b = member.poses.subarray((next * data.nodes + n) * 7);
      const cosine = Math.min(a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6], 1);
      const angle = Math.acos(cosine), sine = Math.sin(angle);
      const [f, g] = sine > 1e-4 ? [Math.sin((1 - s) * angle) / sine, Math.sin(s * angle) / sine] : [1 - s, s];
      const q = [3, 4, 5, 6].map((i) => f * a[i] + g * b[i]), norm = Math.hypot(...q);
      all.push(ofPose([0, 1, 2].map((i) => (1 - s) * a[i] + s * b[i]), ...q.map((x) => x / norm)));
    }
    for (const spring of member.springs) all.push(stretched(spring, all)); // their nodes come after those of the bodies
    return all;
  };
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

  // -- the picture -----------------------------------------------------------------------------------------------------

  const canvas = $("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
  if (!gl) {
    fail("This page shows a moving picture with WebGL2, which this browser does not offer or has switched off.\n" +
      "Open it with a current Firefox, Chrome, Edge or Safari, with hardware acceleration on.");
    if (data.study) { // its plots and its table need no WebGL
      document.body.classList.add("with-study");
      const nothing = () => {}, names = members.map((m) => m.name);
      studyPage(data.study, bytes, { names, choose: nothing, ghosts: nothing, changed: nothing })
        .read(new URLSearchParams(location.hash.slice(1)));
    }
    return;
  }
  const compiled = ([vertex, fragment]) => {
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
        throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    const at = {}, count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
    for (let i = 0; i < count; i++) {
      const name = gl.getActiveUniform(program, i).name;
      at[name.replace("[0]", "")] = gl.getUniformLocation(program, name);
    }
    return { program, at };
  };
  const buffered = (mesh) => {
    const array = gl.createVertexArray(), indices = numbers(mesh.indices);
    gl.bindVertexArray(array);
    [[mesh.vertices, 3], [mesh.normals, 3], [mesh.uv, 2]].forEach(([where, width], k) => {
      if (!where) return;
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, floats(where), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, width, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    const mode = { triangles: gl.TRIANGLES, lines: gl.LINES, points: gl.POINTS }[mesh.kind];
    return { array, mode, count: indices.length, lit: mesh.kind === "triangles", picture: mesh.texture ? pictured(mesh.texture) : white };
  };
  const pictured = (address) => {
    const texture = gl.createTexture(), image = new Image();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 1, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4).fill(255));
    image.onload = () => {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, true); // (0, 0) is the lower left
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.SRGB8_ALPHA8, gl.RGBA, gl.UNSIGNED_BYTE, image);
      gl.generateMipmap(gl.TEXTURE_2D);
      redraw();
    };
    if (address) image.src = address;
    return texture;
  };

  const lights = data.lights.length ? data.lights : [{ // a light from overhead where the scene has none
    type: "directional", node: 0, position: [0, 0, 0], direction: up.map((x) => -x), cone: 0,
    ambient: [0.35, 0.35, 0.35], diffuse: [0.65, 0.65, 0.65], specular: [0.2, 0.2, 0.2], shadow: true }];
  const texts = shaders(lights.length);
  const surface = compiled(texts.surface), depth = compiled(texts.depth), grid = compiled(texts.grid);
  const white = pictured(null), meshes = data.meshes.map(buffered);
  gl.bindVertexArray(null);

  const shadowLight = lights.findIndex((light) => light.type !== "point" && light.shadow);
  const SIDE = Math.min(2048, gl.getParameter(gl.MAX_TEXTURE_SIZE));
  const map = gl.createTexture(), target = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, map);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SIDE, SIDE);
  for (const [name, value] of [[gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE], [gl.TEXTURE_MIN_FILTER, gl.LINEAR],
    [gl.TEXTURE_MAG_FILTER, gl.LINEAR], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]])
    gl.texParameteri(gl.TEXTURE_2D, name, value);
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, map, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);

  const drawPart = (program, part, node) => {
    const mesh = meshes[part.mesh], model = times4(node, part.transform);
    gl.frontFace(turning(model) < 0 ? gl.CW : gl.CCW);
    gl.uniformMatrix4fv(program.at.model, false, model);
    gl.uniform1f(program.at.side, turning(model) < 0 ? -1 : 1);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(mesh.mode, mesh.count, gl.UNSIGNED_INT, 0);
  };
  const casts = (part) => part.shadow && part.colour[3] >= 1 && meshes[part.mesh].lit;

  const drawShadows = (all, nodes, light) => { // returns what the shaders need to look a point up
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    const parts = all.filter(casts);
    for (const part of parts) {
      if (part.node === 0 && part.reach > 2 * data.size) continue; // a terrain would take all of the map
      const middle = [12, 13, 14].map((i) => nodes[part.node][i]);
      const reach = part.node < data.nodes ? part.reach : Math.hypot(...nodes[part.node].slice(8, 11)); // of a spring
      for (let i = 0; i < 3; i++) {
        low[i] = Math.min(low[i], middle[i] - reach);
        high[i] = Math.max(high[i], middle[i] + reach);
      }
    }
    if (!(low[0] < Infinity)) return null;
    const middle = low.map((x, i) => (x + high[i]) / 2);
    const radius = Math.hypot(...high.map((x, i) => x - low[i])) / 2;
    const back = turned(nodes[light.node], light.direction).map((x) => -x);
    const x = unit(cross(Math.abs(back[0]) < 0.9 ? [1, 0, 0] : [0, 0, 1], back)), y = cross(back, x);
    const place = moved(nodes[light.node], light.position), far = Math.hypot(...plus(place, middle, -1)) + radius;
    const spot = light.type === "spot", cone = Math.min(light.cone, 1.5);
    const view = spot
      ? times4(perspective(1 / Math.tan(cone), 1, far / 200, far * 4), lookFrom(place, x, y, back))
      : times4(parallel(radius, -10 * radius, 10 * radius), lookFrom(middle, x, y, back));
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.viewport(0, 0, SIDE, SIDE);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 3);
    gl.useProgram(depth.program);
    gl.uniformMatrix4fv(depth.at.view, false, view);
    for (const part of parts) drawPart(depth, part, nodes[part.node]);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { view, step: 3 * (spot ? 2 * far * Math.tan(cone) : 2 * radius) / SIDE };
  };
  const setShadow = (program, shadow) => {
    gl.useProgram(program.program);
    gl.uniform1i(program.at.shadowed, shadow ? 1 : 0);
    gl.uniform1i(program.at.map, 1); // also without shadow: two kinds of sampler must never share a unit
    if (!shadow) return;
    gl.uniformMatrix4fv(program.at.shadowView, false, shadow.view);
    gl.uniform1f(program.at.shadowStep, shadow.step);
    gl.uniform1f(program.at.texel, 1 / SIDE);
  };

  const setLights = (nodes, eye, view) => {
    const at = surface.at, kinds = { directional: 0, point: 1, spot: 2 };
    gl.uniformMatrix4fv(at.view, false, view);
    gl.uniform3fv(at.eye, eye);
    gl.uniform1f(at.shininess, data.shininess);
    gl.uniform1f(at.dotSize, 4 * devicePixelRatio);
    gl.uniform1i(at.picture, 0);
    gl.uniform1i(at.shadowLight, shadowLight);
    gl.uniform4fv(at.place, lights.flatMap((l) => [...moved(nodes[l.node], l.position), kinds[l.type]]));
    gl.uniform4fv(at.axis, lights.flatMap((l) => [...turned(nodes[l.node], l.direction), Math.cos(l.cone)]));
    for (const [name, key] of [["ka", "ambient"], ["kd", "diffuse"], ["ks", "specular"]])
      gl.uniform3fv(at[name], lights.flatMap((l) => l[key]));
  };
  const drawParts = (parts, nodes, opacity) => {
    for (const part of parts) {
      const mesh = meshes[part.mesh], [r, g, b, a] = part.colour;
      gl.uniform4f(surface.at.colour, r, g, b, a * opacity);
      gl.uniform1i(surface.at.lit, mesh.lit ? 1 : 0);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, mesh.picture);
      drawPart(surface, part, nodes[part.node]);
    }
  };
  const drawGrid = (view, shadow) => {
    const rough = data.size / 2, ten = 10 ** Math.floor(Math.log10(rough)), at = grid.at;
    const cell = ten * [5, 2, 1].find((k) => k * ten <= rough * 1.0001);
    const reach = Math.max(15 * data.size, 4 * camera.distance);
    const floor = plus(camera.target, up, data.floor - 1e-3 * data.size - dot(camera.target, up));
    setShadow(grid, shadow);
    gl.uniformMatrix4fv(at.view, false, view);
    for (const [name, value] of [["middle", floor], ["right", right], ["forward", forward], ["up", up]])
      gl.uniform3fv(at[name], value);
    gl.uniform1f(at.reach, reach);
    gl.uniform1f(at.cell, cell);
    gl.bindVertexArray(null);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  };

  let chosen = 0; // the solid member, or the first one shown where it is switched off
  const focus = () => members[chosen].shown ? members[chosen] : members.find((m) => m.shown) || members[0];

  const draw = () => {
    const shown = members.filter((m) => m.shown), solid = focus();
    const nodes = places(solid, clock.t);
    follow(nodes);
    const shadow = shown.length && shadowLight >= 0 ? drawShadows(solid.parts, nodes, lights[shadowLight]) : null;
    const { eye, view } = camera.seen(canvas.width / canvas.height);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, map);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    if (options.grid) drawGrid(view, shadow);
    setShadow(surface, shadow);
    setLights(nodes, eye, view);
    const far = (part) => Math.hypot(...plus(nodes[part.node].slice(12, 15), eye, -1));
    const parts = solid.parts.filter((part) => shown.length || part.node === 0);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    drawParts(parts.filter((part) => part.colour[3] >= 1), nodes, 1);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    drawParts(parts.filter((part) => part.colour[3] < 1).sort((a, b) => far(b) - far(a)), nodes, 1);
    gl.enable(gl.CULL_FACE);
    for (const member of shown.filter((m) => m !== solid))
      drawParts(member.parts.filter((part) => part.node > 0), places(member, clock.t), data.ghost);
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, null);
  };
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.clearColor(...data.background, 1);

  // -- camera: the same as in the window -------------------------------------------------------------------------------

  const STEEPEST = 1.5690509975; // 89.9 degrees: straight up or down has no upright picture
  const options = { grid: true, follow: false };
  const camera = {
    target: data.centre.slice(), distance: data.camera.distance, azimuth: 0, elevation: 0,
    from(name) { [this.azimuth, this.elevation] = data.views[name]; redraw(); address(); },
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
  const moving = [...new Set(members[0].parts.map((part) => part.node))].filter((node) => node > 0 && node < data.nodes);
  let followed = null;
  const follow = (nodes) => { // shifts the target by what the middle of the bodies has moved
    const now = moving.reduce((sum, n) => plus(sum, nodes[n].slice(12, 15), 1 / moving.length), [0, 0, 0]);
    if (options.follow && followed) camera.target = plus(camera.target, plus(now, followed, -1));
    followed = now;
  };

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

  // -- time ------------------------------------------------------------------------------------------------------------

  const SPEEDS = [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16];
  const clock = { t: 0, playing: false, speed: 1, stamp: 0 };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame((stamp) => {
      waiting = false;
      if (clock.playing) advance(stamp);
      draw();
      if (clock.playing) redraw();
    });
  };
  const advance = (stamp) => {
    let t = clock.t + Math.min((stamp - clock.stamp) / 1000, 0.1) * clock.speed; // a hidden page does not run on
    clock.stamp = stamp;
    if (t >= last) {
      if ($("loop").checked) t %= last; else play(false);
    }
    show(t);
  };
  const show = (t) => {
    clock.t = Math.min(Math.max(t, 0), last);
    $("time").value = clock.t;
    $("clock").textContent = (data.start + clock.t).toFixed(last < 1 ? 4 : 2) + " s";
    if (panel) panel.at(clock.t);
    if (!clock.playing) address();
  };
  const go = (t) => { play(false); show(t); redraw(); };
  const play = (on) => {
    on = on && last > 0;
    if (on && clock.t >= last) clock.t = 0;
    clock.playing = on;
    clock.stamp = performance.now();
    $("play").textContent = on ? "\u275a\u275a" : "\u25b6";
    state(on ? "playing" : "paused");
    address();
    if (on) redraw();
  };
  const step = (by) => { // to the instant before or after
    const k = before(clock.t);
    if (by < 0) go(clock.t > times[k] ? times[k] : times[Math.max(k - 1, 0)]);
    else go(times[Math.min(clock.t < last ? k + 1 : times.length - 1, times.length - 1)]);
  };
  const hurry = (by) => {
    const k = Math.min(Math.max(SPEEDS.indexOf(clock.speed) + by, 0), SPEEDS.length - 1);
    clock.speed = SPEEDS[k];
    $("speed").value = k;
  };

  // -- controls --------------------------------------------------------------------------------------------------------

  const offer = (select, words, chosen, act) => {
    words.forEach(([word, value]) => select.add(new Option(word, value)));
    select.value = chosen;
    select.addEventListener("change", () => { act(select.value); canvas.focus(); });
  };
  const help = (on) => { $("help").hidden = !on; };
  const reset = () => {
    Object.assign(camera, { target: data.centre.slice(), distance: data.camera.distance });
    $("view").value = "iso";
    camera.from("iso");
  };
  const keys = {
    " ": () => play(!clock.playing), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    ArrowUp: () => hurry(1), ArrowDown: () => hurry(-1), Home: () => go(0), End: () => go(last), r: reset,
    f: () => { options.follow = !options.follow; }, g: () => { options.grid = !options.grid; redraw(); },
    l: () => { $("loop").checked = !$("loop").checked; }, v: () => turn(), s: () => pane(),
    n: (e) => choose((members.indexOf(focus()) + (e.shiftKey ? -1 : 1) + members.length) % members.length), "?": () => help($("help").hidden), Escape: () => help(false),
  };
  const pressed = (e) => {
    const act = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    const typing = e.target.tagName === "SELECT" || (e.key === " " && /BUTTON|SUMMARY|INPUT/.test(e.target.tagName));
    if (!act || typing || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    act(e);
  };
  const fragment = () => { // #t=0.5&view=front&member=17, and of a study what `study_page.js` writes
    const wish = new URLSearchParams(location.hash.slice(1)), t = parseFloat(wish.get("t"));
    restoring = true;
    if (study) study.read(wish);
    if (data.views[wish.get("view")]) { $("view").value = wish.get("view"); camera.from($("view").value); }
    const member = members.findIndex((m) => m.name === wish.get("member"));
    if (member >= 0) choose(member);
    if (Number.isFinite(t)) go(t - data.start);
    restoring = false;
    return Number.isFinite(t);
  };
  let restoring = true, waits = 0; // what is read from the address is not written
  const address = () => { // a link to what is seen, of pages with a study
    if (!study || restoring) return;
    clearTimeout(waits);
    waits = setTimeout(() => {
      const wish = new URLSearchParams(), view = $("view").value, [azimuth, elevation] = data.views[view];
      if (!clock.playing) wish.set("t", Number((data.start + clock.t).toPrecision(7)));
      if (camera.azimuth === azimuth && camera.elevation === elevation) wish.set("view", view);
      study.write(wish);
      try { history.replaceState(null, "", "#" + wish); } catch { /* a closed frame has no address */ }
    }, 150);
  };
  const tell = () => { // who is solid, to the list, the slider, the tables and the plots
    const solid = focus(), others = members.filter((m) => m.shown && m !== solid);
    followed = null;
    $("name").textContent = "Member " + solid.name;
    $("member").value = members.indexOf(solid);
    $("ghosts").checked = others.length === members.length - 1;
    for (const member of members) member.box.checked = member.shown;
    if (panel) panel.of(members.indexOf(solid), others.map((m) => members.indexOf(m)));
    if (study) study.solid(solid.name);
    address();
    redraw();
  };
  const choose = (k) => { // one that was shown alone gives way, ghosts stay
    const old = focus();
    if (within ? !within.includes(old.name) : members.every((m) => m === old || !m.shown)) old.shown = false;
    chosen = k;
    members[k].shown = true;
    tell();
  };
  let within = null, others = !data.alone; // the members that a study's plots choose; whether all are shown else
  const ghosts = (names) => {
    const solid = focus();
    within = names;
    for (const member of members) member.shown = member === solid || (names ? names.includes(member.name) : others);
    tell();
  };
  const listMembers = () => {
    $("choice").hidden = $("members").hidden = members.length < 2;
    $("members").open = members.length < 9 && !data.alone;
    $("member").max = members.length - 1;
    $("member").addEventListener("input", () => choose(Number($("member").value)));
    $("ghosts").addEventListener("change", () => {
      const solid = focus();
      others = $("ghosts").checked;
      for (const member of members) member.shown = member === solid || $("ghosts").checked;
      tell();
    });
    members.forEach((member, k) => {
      const label = document.createElement("label"), box = document.createElement("input");
      member.shown = k === 0 || !data.alone;
      member.box = Object.assign(box, { type: "checkbox" });
      box.addEventListener("change", () => { member.shown = box.checked; tell(); });
      label.append(box, " member " + member.name);
      $("members").append(label);
    });
  };
  let asked = null; // whether the reader has opened or closed the side; before, it is open where there is room for it
  const turn = () => { asked = $("side").hidden; beside(asked); };
  const fit = () => beside(asked ?? (panel ? useful && $("stage").clientWidth >= (study ? 900 : 700) : members.length > 1));
  const beside = (on) => { // with tables or plots the side has its own place, if the page is wide enough
    $("side").hidden = !on;
    $("side").classList.toggle("full", Boolean(panel));
    document.body.classList.toggle("beside", on && Boolean(panel));
    resize();
  };
  const pane = () => { // the study, where there is one
    if (!study) return;
    document.body.classList.toggle("with-study");
    fit();
  };
  const resize = () => {
    const limit = gl.getParameter(gl.MAX_RENDERBUFFER_SIZE);
    canvas.width = Math.max(1, Math.min(Math.round(canvas.clientWidth * devicePixelRatio), limit));
    canvas.height = Math.max(1, Math.min(Math.round(canvas.clientHeight * devicePixelRatio), limit));
    redraw();
  };

  $("remarks").textContent = data.remarks.join("; ");
  $("bar").hidden = false;
  $("time").max = last;
  $("time").addEventListener("input", () => go(parseFloat($("time").value)));
  $("play").addEventListener("click", () => play(!clock.playing));
  $("ask").addEventListener("click", () => help($("help").hidden));
  const words = SPEEDS.map((s, k) => [s < 1 ? "1/" + 1 / s : String(s), k]);
  offer($("speed"), words, 6, (k) => { clock.speed = SPEEDS[k]; });
  while (last > 0 && last / clock.speed < 0.5 && clock.speed > SPEEDS[0]) hurry(-1); // a short motion in slow motion
  offer($("view"), Object.keys(data.views).map((v) => [v, v]), "iso", (v) => camera.from(v));
  if (last <= 0) for (const id of ["play", "time", "clock", "speed", "loop"]) ($(id).closest("label") || $(id)).hidden = true;
  const told = data.sheets && data.sheets.tables.length + data.sheets.plots.length > 0;
  const panel = told ? sheets($("sheets"), data.sheets, floats, (t) => go(t)) : null;
  const useful = told && (members.length > 1 || data.sheets.plots.length + data.sheets.tables.filter((t) => t.open).length > 0);
  $("values").hidden = !panel;
  $("values").addEventListener("click", turn);
  document.body.classList.toggle("with-study", Boolean(data.study));
  const study = data.study ? studyPage(data.study, bytes, { names: members.map((m) => m.name), ghosts, changed: address,
    choose: (name) => choose(members.findIndex((m) => m.name === name)) }) : null;
  $("study-turn").hidden = $("study-help").hidden = !study;
  $("study-turn").addEventListener("click", pane);
  listMembers();
  tell();
  addEventListener("keydown", pressed);
  new ResizeObserver(() => fit()).observe($("stage"));
  addEventListener("hashchange", fragment);
  canvas.addEventListener("webglcontextlost", (e) => { e.preventDefault(); play(false); });
  canvas.addEventListener("webglcontextrestored", () => location.reload());
  camera.from("iso");
  fit();
  show(0);
  if (!fragment()) play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
})();
