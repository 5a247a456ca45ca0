// The ground: see-through but for its lines and the shadows that fall on it.
in vec4 tint;  // x, y: place in the plane, from the world's origin [m]; z, w: from the middle of the grid [m]
in vec3 world;
out vec4 pixel;

float lines(float spacing) {
    vec2 at = tint.xy / spacing;
    vec2 width = fwidth(at);
    vec2 far = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-9));
    float line = 1.0 - min(min(far.x, far.y), 1.0);
    return line * (1.0 - smoothstep(0.15, 0.5, max(width.x, width.y)));  // denser than pixels: a plain, not a moire
}

void main() {
    float faded = 1.0 - smoothstep(0.25, 1.0, length(tint.zw) / choice.z);
    float line = faded * max(0.28 * lines(choice.y), 0.5 * lines(10.0 * choice.y));
    float shade = 0.0;
#ifdef SHADOWS
    shade = 0.55 * darkness(world, up.xyz);
#endif
    float cover = line + shade * (1.0 - line);
    pixel = vec4(vec3(0.03) * line, cover);
}
