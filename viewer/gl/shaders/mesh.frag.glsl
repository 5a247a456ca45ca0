// Colours are linear and multiplied by their opacity.
#if defined(DEPTH)
void main() {}
#elif defined(MASK)
out vec4 pixel;

void main() {
    pixel = vec4(1.0);
}
#elif defined(PICK)
flat in uint number;
out uvec2 part;

void main() {
    part = uvec2(number, floatBitsToUint(gl_FragCoord.z));
}
#else
in vec4 tint;
#ifndef FLAT
in vec3 world;
in vec3 surface_normal;
flat in float orientation;
#endif
#ifdef TEXTURED
uniform sampler2D picture;
in vec2 texture_uv;
#endif
out vec4 pixel;

void main() {
    vec4 base = tint;
#ifdef TEXTURED
    base *= texture(picture, texture_uv);
#endif
#if !defined(FLAT) && !defined(GHOST)
    // Back faces of open surfaces are lit with the reversed normal.
    vec3 n = normalize(surface_normal) * (gl_FrontFacing == (orientation > 0.0) ? 1.0 : -1.0);
    base.rgb = phong(base.rgb, world, n);
#endif
    pixel = vec4(base.rgb * base.a, base.a);
}
#endif
