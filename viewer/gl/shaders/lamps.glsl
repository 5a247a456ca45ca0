// Phong's light and its shadows. Kinds and layers are constants (ALL_LAMPS), so that no branch remains at run time.
const int DIRECTIONAL = 0;
const int POINT = 1;
const int SPOT = 2;

#ifdef SHADOWS
uniform sampler2DArrayShadow shadows;

float tap(vec3 at, int layer) {
    return texture(shadows, vec4(at.xy, float(layer), min(at.z, 1.0)));
}

// The part of the lamp's light that arrives at p, in 0..1.
float arriving(Lamp lamp, int kind, int first, vec3 p, vec3 n, float facing) {
    vec3 away = p - lamp.position.xyz;
    vec3 size = abs(away);
    int layer = first;
    float texel = lamp.ambient.w;
    if (kind == SPOT) texel *= dot(away, lamp.direction.xyz);
    if (kind == POINT) {
        bvec3 negative = lessThan(away, vec3(0.0));
        layer += size.x >= size.y && size.x >= size.z ? int(negative.x)
               : size.y >= size.z ? 2 + int(negative.y) : 4 + int(negative.z);
        texel *= max(size.x, max(size.y, size.z));
    }
    // off the surface by some texels, more where light grazes it: less shows acne, more lifts shadows off their bodies
    vec4 c = layers[layer] * vec4(p + n * texel * (1.5 + 2.0 * (1.0 - facing)), 1.0);
    vec3 at = 0.5 + 0.5 * c.xyz / max(c.w, 1e-6);
#ifdef SOFT
    vec2 one = 1.0 / vec2(textureSize(shadows, 0).xy);
    float sum = 0.0;
    for (int i = -1; i <= 1; ++i)
        for (int k = -1; k <= 1; ++k)
            sum += tap(vec3(at.xy + one * vec2(i, k), at.z), layer);
    return sum / 9.0;
#else
    return tap(at, layer);
#endif
}
#endif

// Towards the lamp; w: what the spot's cone lets through, a smooth edge over its last tenth.
vec4 towards(Lamp lamp, int kind, vec3 p) {
    if (kind == DIRECTIONAL) return vec4(-lamp.direction.xyz, 1.0);
    vec3 to = normalize(lamp.position.xyz - p);
    if (kind == POINT) return vec4(to, 1.0);
    return vec4(to, smoothstep(lamp.position.w, lamp.direction.w, dot(-to, lamp.direction.xyz)));
}

#if LAMPS > 0
// Phong, Illumination for Computer Generated Pictures (1975): Ka + Kd (n.l) on the surface's colour, Ks (r.v)^s in white.
vec3 shine(Lamp lamp, int kind, int first, vec3 base, vec3 p, vec3 n, vec3 v) {
    vec4 to = towards(lamp, kind, p);
    float facing = max(dot(n, to.xyz), 0.0);
    float passed = to.w;
#ifdef SHADOWS
    passed *= arriving(lamp, kind, first, p, n, facing);
#endif
    float mirrored = facing > 0.0 ? pow(max(dot(reflect(-to.xyz, n), v), 0.0), choice.x) : 0.0;
    return base * (lamp.ambient.rgb + lamp.diffuse.rgb * (facing * passed)) + lamp.specular.rgb * (mirrored * passed);
}
#endif

vec3 phong(vec3 base, vec3 p, vec3 n) {
#if LAMPS > 0
    vec3 v = normalize(eye.xyz - eye.w * p);
    vec3 sum = vec3(0.0);
#define ONE(k, kind, first) sum += shine(lamps[k], kind, first, base, p, n, v);
    ALL_LAMPS
#undef ONE
    return sum;
#else
    return base;
#endif
}

#ifdef SHADOWS
// Diffuse light of a lamp on a plane, with and without shadows.
vec2 weighed(Lamp lamp, int kind, int first, vec3 p, vec3 n) {
    vec4 to = towards(lamp, kind, p);
    float facing = max(dot(n, to.xyz), 0.0);
    float light = facing * to.w * dot(lamp.diffuse.rgb, vec3(0.2126, 0.7152, 0.0722));
    return light * vec2(arriving(lamp, kind, first, p, n, facing), 1.0);
}

// The part of all diffuse light that shadows take away, in 0..1.
float darkness(vec3 p, vec3 n) {
    vec2 sum = vec2(1e-6);
#define ONE(k, kind, first) sum += weighed(lamps[k], kind, first, p, n);
    ALL_LAMPS
#undef ONE
    return 1.0 - sum.x / sum.y;
}
#endif
