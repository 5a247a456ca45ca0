// The player's shaders, each a vertex and a fragment text: lit surfaces, the shadow map, the grid on the floor.
"use strict";
const shaders = (lights) => {
  const shadow = `
    uniform highp sampler2DShadow map; uniform mat4 shadowView; uniform float shadowStep, texel; uniform bool shadowed;
    float reached(vec3 p, vec3 n) { // the part of nine samples that is lit
      vec4 s = shadowView * vec4(p + n * shadowStep, 1.0);
      vec3 c = s.xyz / s.w * 0.5 + 0.5;
      if (!shadowed || s.w <= 0.0 || any(greaterThan(abs(c - 0.5), vec3(0.5)))) return 1.0;
      float sum = 0.0;
      for (int i = -1; i < 2; i++) for (int j = -1; j < 2; j++) sum += texture(map, c + vec3(i, j, 0) * texel);
      return sum / 9.0;
    }`;
  const surface = [`#version 300 es
    layout(location = 0) in vec3 position; layout(location = 1) in vec3 normal; layout(location = 2) in vec2 uv;
    uniform mat4 model, view; uniform float side, dotSize;
    out vec3 at, n; out vec2 st;
    void main() {
      vec4 world = model * vec4(position, 1.0);
      mat3 m = mat3(model);
      n = side * mat3(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])) * normal; // right for any scale
      at = world.xyz; st = uv; gl_Position = view * world; gl_PointSize = dotSize;
    }`, `#version 300 es
    precision highp float;
    in vec3 at, n; in vec2 st; out vec4 seen;
    uniform vec4 colour; uniform bool lit;
    uniform sampler2D picture; uniform vec3 eye; uniform float shininess;
    uniform vec4 place[${lights}], axis[${lights}]; uniform vec3 ka[${lights}], kd[${lights}], ks[${lights}]; uniform int shadowLight;
    ${shadow}
    vec3 screen(vec3 c) { return mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)); }
    void main() {
      vec4 base = colour * texture(picture, st);
      vec3 sum = base.rgb;
      if (lit) {
        vec3 normal = normalize(gl_FrontFacing ? n : -n), gloss = vec3(0.0), toEye = normalize(eye - at);
        sum = vec3(0.0);
        for (int i = 0; i < ${lights}; i++) { // place.w: 0 directional, 1 point, 2 spot; axis.w: cosine of the cone
          vec3 toLight = place[i].w < 0.5 ? -axis[i].xyz : normalize(place[i].xyz - at);
          float cone = dot(-toLight, axis[i].xyz);
          float light = place[i].w < 1.5 ? 1.0 : smoothstep(axis[i].w, mix(axis[i].w, 1.0, 0.2), cone);
          if (i == shadowLight) light *= reached(at, normal);
          float facing = dot(normal, toLight);
          sum += ka[i] * base.rgb + kd[i] * base.rgb * light * max(facing, 0.0);
          if (facing > 0.0) gloss += ks[i] * light * pow(max(dot(reflect(-toLight, normal), toEye), 0.0), shininess);
        }
        sum += gloss;
      }
      seen = vec4(screen(min(sum, 1.0)), base.a);
    }`];
  const depth = [`#version 300 es
    layout(location = 0) in vec3 position; uniform mat4 model, view;
    void main() { gl_Position = view * model * vec4(position, 1.0); }`, `#version 300 es
    void main() {}`];
  const grid = [`#version 300 es
    uniform vec3 middle, right, forward; uniform mat4 view; uniform float reach; out vec3 at;
    void main() {
      vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
      at = middle + reach * (corner.x * right + corner.y * forward); gl_Position = view * vec4(at, 1.0);
    }`, `#version 300 es
    precision highp float;
    in vec3 at; out vec4 seen; uniform vec3 middle, right, forward, up; uniform float reach, cell;
    ${shadow}
    void main() {
      vec2 g = vec2(dot(at, right), dot(at, forward)) / cell, wide = fwidth(g);
      vec2 line = (1.0 - smoothstep(0.0, 1.5, abs(fract(g - 0.5) - 0.5) / wide)) * clamp(1.0 - 2.0 * wide, 0.0, 1.0);
      float dark = max(0.2 * max(line.x, line.y), 0.35 * (1.0 - reached(at, up)));
      seen = vec4(0.12, 0.17, 0.24, dark * (1.0 - smoothstep(0.3, 1.0, length(at - middle) / reach)));
    }`];
  return { surface, depth, grid };
};
