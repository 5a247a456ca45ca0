// The ground: transparent except for its lines and the shadows on it.
in vec4 tint;  // x, y: coordinates in the plane [m]; z, w: relative to the middle of the grid [m]
in vec3 world;
out vec4 pixel;

float lines(float spacing) {
    vec2 at = tint.xy / spacing;
    vec2 width = fwidth(at);
    vec2 far = abs(fract(at - 0.5) - 0.5) / max(width, vec2(1e-9));
    float line = settings.w * (1.0 - min(min(far.x, far.y), 1.0));  // enlarged, it is as much wider as it is fainter
    return line * (1.0 - smoothstep(0.15, 0.5, max(width.x, width.y)));  // fades lines denser than pixels
}

void main() {
    float faded = 1.0 - smoothstep(0.25, 1.0, length(tint.zw) / settings.z);
    float line = faded * max(0.28 * lines(settings.y), 0.5 * lines(10.0 * settings.y));
    float shade = 0.0;
#ifdef SHADOWS
    shade = 0.55 * shadow_fraction(world, up.xyz);
#endif
    float opacity = line + shade * (1.0 - line);
    pixel = vec4(vec3(0.03) * line, opacity);
}
