// The picture of members with WebGL2: Phong light with one shadow map, a grid on the floor, ghosts.
"use strict";
const playerPicture = (gl, data, redraw) => {
  const { cross, plus, unit, dot, times4, turned, moved, turning, lookFrom, perspective, parallel } = playerVectors;
  const canvas = gl.canvas, [right, forward, up] = data.axes;
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
  const buffered = (mesh, { floats, numbers }) => {
    const array = gl.createVertexArray(), indices = numbers(mesh.indices), buffers = [];
    const buffer = (kind, values) => {
      buffers.push(gl.createBuffer());
      gl.bindBuffer(kind, buffers[buffers.length - 1]);
      gl.bufferData(kind, values, gl.STATIC_DRAW);
    };
    gl.bindVertexArray(array);
    [[mesh.vertices, 3], [mesh.normals, 3], [mesh.uv, 2]].forEach(([where, width], k) => {
      if (!where) return;
      buffer(gl.ARRAY_BUFFER, floats(where));
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, width, gl.FLOAT, false, 0, 0);
    });
    buffer(gl.ELEMENT_ARRAY_BUFFER, indices);
    gl.bindVertexArray(null);
    const mode = { triangles: gl.TRIANGLES, lines: gl.LINES, points: gl.POINTS }[mesh.kind];
    return { array, buffers, mode, count: indices.length, lit: mesh.kind === "triangles", picture: mesh.texture ? pictured(mesh.texture) : white };
  };
  const free = (mesh) => {
    gl.deleteVertexArray(mesh.array);
    for (const one of mesh.buffers) gl.deleteBuffer(one);
    if (mesh.picture !== white) gl.deleteTexture(mesh.picture);
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
  const white = pictured(null);

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
    const mesh = part.mesh, model = times4(node, part.transform);
    gl.frontFace(turning(model) < 0 ? gl.CW : gl.CCW);
    gl.uniformMatrix4fv(program.at.model, false, model);
    gl.uniform1f(program.at.side, turning(model) < 0 ? -1 : 1);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(mesh.mode, mesh.count, gl.UNSIGNED_INT, 0);
  };
  const casts = (part) => part.shadow && part.colour[3] >= 1 && part.mesh.lit;

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
      const mesh = part.mesh, [r, g, b, a] = part.colour;
      gl.uniform4f(surface.at.colour, r, g, b, a * opacity);
      gl.uniform1i(surface.at.lit, mesh.lit ? 1 : 0);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, mesh.picture);
      drawPart(surface, part, nodes[part.node]);
    }
  };
  const drawGrid = (camera, view, shadow) => {
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

  // What is drawn: `solid` with its `nodes`, `ghosts` as members with theirs, whether any member is shown, the grid.
  const draw = ({ solid, nodes, ghosts, any, camera, grid: floored }) => {
    const shadow = any && shadowLight >= 0 ? drawShadows(solid.parts, nodes, lights[shadowLight]) : null;
    const { eye, view } = camera.seen(canvas.width / canvas.height);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, map);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    if (floored) drawGrid(camera, view, shadow);
    setShadow(surface, shadow);
    setLights(nodes, eye, view);
    const far = (part) => Math.hypot(...plus(nodes[part.node].slice(12, 15), eye, -1));
    const parts = solid.parts.filter((part) => any || part.node === 0);
    gl.disable(gl.BLEND);
    gl.depthMask(true);
    drawParts(parts.filter((part) => part.colour[3] >= 1), nodes, 1);
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    drawParts(parts.filter((part) => part.colour[3] < 1).sort((a, b) => far(b) - far(a)), nodes, 1);
    gl.enable(gl.CULL_FACE);
    for (const [member, at] of ghosts) drawParts(member.parts.filter((part) => part.node > 0), at, data.ghost);
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, null);
  };
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.clearColor(...data.background, 1);
  return { buffered: (meshes, arrays) => meshes.map((mesh) => buffered(mesh, arrays)), free, draw };
};
