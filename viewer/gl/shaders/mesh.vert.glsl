// An instance of a mesh: three rows of its matrix, colour and number.
in vec3 position;
in vec3 normal;
in vec2 uv;
in vec4 row0;
in vec4 row1;
in vec4 row2;
in vec4 colour;
in uint id;

#if defined(DEPTH)
uniform int layer;
#elif defined(PICK)
flat out uint number;
#else
out vec4 tint;  // linear; a marked part is more orange than itself
flat out float mark;
#ifndef FLAT
out vec3 world;
out vec3 outward;
flat out float handed;  // below 0: mirrored, so that its triangles turn the other way round
#endif
#ifdef TEXTURED
out vec2 on_picture;
#endif
#endif

void main() {
    vec4 p = vec4(position, 1.0);
    vec3 at = vec3(dot(row0, p), dot(row1, p), dot(row2, p));
#if defined(DEPTH)
    gl_Position = layers[layer] * vec4(at, 1.0);
#else
    gl_Position = clip * vec4(at, 1.0);
#if defined(PICK)
    number = id & 0x7fffffffu;
#else
    tint = colour;
    mark = float(id >> 31u);
#ifdef TEXTURED
    on_picture = uv;
#endif
#ifndef FLAT
    // Cofactors turn normals rightly under scaling; their sign under a mirror is the determinant's.
    vec3 c0 = cross(row1.xyz, row2.xyz), c1 = cross(row2.xyz, row0.xyz), c2 = cross(row0.xyz, row1.xyz);
    handed = dot(row0.xyz, c0) < 0.0 ? -1.0 : 1.0;
    outward = handed * vec3(dot(c0, normal), dot(c1, normal), dot(c2, normal));
    world = at;
#ifdef GHOST
    // Light from the eye, a vertex: a picture of 2000 ghosts takes a fifth of the time of full Phong.
    vec3 v = normalize(eye.xyz - eye.w * at);
    tint.rgb *= 0.4 + 0.6 * abs(dot(normalize(outward), v));
#endif
#endif
#endif
#endif
}
