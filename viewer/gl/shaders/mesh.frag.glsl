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
#endif
#ifdef SPECULAR_MAP
uniform sampler2D strengths;
#endif
#ifdef NORMAL_MAP
uniform sampler2D normals;
in vec3 mesh_x;
#endif
#if defined(TEXTURED) || defined(NORMAL_MAP) || defined(SPECULAR_MAP)
in vec2 texture_uv;
#endif
out vec4 pixel;

#ifdef NORMAL_MAP
// The normal of the picture: red along x of the mesh, green along the picture's height, blue along the mesh's normal.
vec3 bent(vec3 n) {
    vec3 along = normalize(mesh_x - n * dot(n, mesh_x));
    vec3 m = texture(normals, texture_uv).xyz * 2.0 - 1.0;
    return normalize(m.x * along + m.y * orientation * cross(n, along) + m.z * n);
}
#endif

void main() {
    vec4 base = tint;
#ifdef TEXTURED
    base *= texture(picture, texture_uv);
#endif
#if !defined(FLAT) && !defined(GHOST)
    // Back faces of open surfaces are lit with the reversed normal.
    float side = gl_FrontFacing == (orientation > 0.0) ? 1.0 : -1.0;
    vec3 n = normalize(surface_normal);
#ifdef NORMAL_MAP
    n = bent(n);
#endif
    vec3 strength = vec3(1.0);
#ifdef SPECULAR_MAP
    strength = texture(strengths, texture_uv).rgb;
#endif
    base.rgb = phong(base.rgb, strength, world, n * side);
#endif
    pixel = vec4(base.rgb * base.a, base.a);
}
#endif
