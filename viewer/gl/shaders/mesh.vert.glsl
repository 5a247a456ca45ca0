// An instance of a mesh: three rows of its matrix, colour and number. A vertex of a line has the other end too.
in vec3 position;
in vec3 normal;  // LINE: the other end
in vec2 uv;      // LINE: x is the side of the line, 1 or -1
in vec4 row0;
in vec4 row1;
in vec4 row2;
in vec4 colour;
in uint id;

#if defined(DEPTH)
uniform int layer;
#elif defined(PICK)
flat out uint number;
#elif !defined(MASK)
out vec4 tint;  // linear
#ifndef FLAT
out vec3 world;
out vec3 surface_normal;
flat out float orientation;  // -1: mirrored, with reversed winding order
#endif
#if defined(TEXTURED) || defined(NORMAL_MAP) || defined(SPECULAR_MAP)
out vec2 texture_uv;
#endif
#ifdef NORMAL_MAP
out vec3 mesh_x;  // in the world
#endif
#endif

vec3 to_world(vec3 point) {
    vec4 p = vec4(point, 1.0);
    return vec3(dot(row0, p), dot(row1, p), dot(row2, p));
}

#ifdef LINE
// The end `here`, moved along the line to the near plane where it lies behind it.
vec4 clipped_to_near(vec4 here, vec4 there) {
    float inside = here.z + here.w, other = there.z + there.w;
    return inside < 0.0 && other > 0.0 ? mix(here, there, inside / (inside - other)) : here;
}

// A corner of a line as a rectangle on the screen, extended by half its width beyond both ends.
vec4 line_corner(vec3 here, vec3 there, float side) {
    vec4 a = clip * vec4(here, 1.0), b = clip * vec4(there, 1.0);
    vec4 end = clipped_to_near(a, b), other = clipped_to_near(b, a);
    vec2 way = (other.xy / other.w - end.xy / end.w) * screen.xy;
    float far = length(way);
    way = far > 1e-6 ? way / far : vec2(1.0, 0.0);
    end.xy += screen.z * (side * vec2(-way.y, way.x) - way) * 2.0 / screen.xy * end.w;
    return end;
}
#endif

void main() {
    vec3 at = to_world(position);
#if defined(DEPTH)
    gl_Position = layers[layer] * vec4(at, 1.0);
#else
#ifdef LINE
    gl_Position = line_corner(at, to_world(normal), uv.x);
#else
    gl_Position = clip * vec4(at, 1.0);
#endif
#if defined(PICK)
    number = id;
#elif !defined(MASK)
    tint = colour;
#if defined(TEXTURED) || defined(NORMAL_MAP) || defined(SPECULAR_MAP)
    texture_uv = uv;
#endif
#ifdef NORMAL_MAP
    mesh_x = vec3(row0.x, row1.x, row2.x);
#endif
#ifndef FLAT
    // Normals transform by the cofactor matrix, times the sign of the determinant.
    vec3 c0 = cross(row1.xyz, row2.xyz), c1 = cross(row2.xyz, row0.xyz), c2 = cross(row0.xyz, row1.xyz);
    orientation = dot(row0.xyz, c0) < 0.0 ? -1.0 : 1.0;
    surface_normal = orientation * vec3(dot(c0, normal), dot(c1, normal), dot(c2, normal));
    world = at;
#ifdef HULL
    // Pushed out of its own outline, by screen.w times the width in pixels.
    vec2 out_of = (clip * vec4(surface_normal, 0.0)).xy * screen.xy;
    float size = length(out_of);
    gl_Position.xy += (size > 1e-9 ? out_of / size : vec2(0.0)) * HULL * screen.w * 2.0 / screen.xy * gl_Position.w;
#elif defined(GHOST)
    // Headlight per vertex: a picture of 2000 ghosts takes a fifth of the time of Phong shading per pixel.
    vec3 v = normalize(eye.xyz - eye.w * at);
    tint.rgb *= 0.4 + 0.6 * abs(dot(normalize(surface_normal), v));
#endif
#endif
#endif
#endif
}
