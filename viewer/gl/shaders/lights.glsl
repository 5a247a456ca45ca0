// Phong's reflection model with shadows. Kinds and layers are constants (ALL_LIGHTS), so that no branch remains at run time.
const int DIRECTIONAL = 0;
const int POINT = 1;
const int SPOT = 2;

#ifdef SHADOWS
uniform sampler2DArrayShadow shadows;

float depth_test(vec3 at, int layer) {
    return texture(shadows, vec4(at.xy, float(layer), min(at.z, 1.0)));
}

// Fraction of a light that reaches p by the shadow map, in 0..1.
float visibility(Light light, int kind, int first, vec3 p, vec3 n, float cosine) {
    if (first < 0) return 1.0;  // a light without shadows
    vec3 away = p - light.position.xyz;
    vec3 size = abs(away);
    int layer = first;
    float texel = light.ambient.w;
    if (kind == SPOT) texel *= dot(away, light.direction.xyz);
    if (kind == POINT) {
        bvec3 negative = lessThan(away, vec3(0.0));
        layer += size.x >= size.y && size.x >= size.z ? int(negative.x)
               : size.y >= size.z ? 2 + int(negative.y) : 4 + int(negative.z);
        texel *= max(size.x, max(size.y, size.z));
    }
    // normal offset in texels, larger at grazing incidence: less gives shadow acne, more detaches shadows from bodies
    vec4 c = layers[layer] * vec4(p + n * texel * (1.5 + 2.0 * (1.0 - cosine)), 1.0);
    vec3 at = 0.5 + 0.5 * c.xyz / max(c.w, 1e-6);
#ifdef SOFT
    vec2 one = 1.0 / vec2(textureSize(shadows, 0).xy);
    float sum = 0.0;
    for (int i = -1; i <= 1; ++i)
        for (int k = -1; k <= 1; ++k)
            sum += depth_test(vec3(at.xy + one * vec2(i, k), at.z), layer);
    return sum / 9.0;
#else
    return depth_test(at, layer);
#endif
}
#endif

// Direction towards the light; w: attenuation by the cone of a spot, smooth over the last tenth.
vec4 light_direction(Light light, int kind, vec3 p) {
    if (kind == DIRECTIONAL) return vec4(-light.direction.xyz, 1.0);
    vec3 to = normalize(light.position.xyz - p);
    if (kind == POINT) return vec4(to, 1.0);
    return vec4(to, smoothstep(light.position.w, light.direction.w, dot(-to, light.direction.xyz)));
}

#if LIGHTS > 0
// Phong, Illumination for Computer Generated Pictures (1975): Ka + Kd (n.l) on the surface's colour, Ks (r.v)^s in white.
vec3 phong_term(Light light, int kind, int first, vec3 base, vec3 strength, vec3 p, vec3 n, vec3 v) {
    vec4 to = light_direction(light, kind, p);
    float cosine = max(dot(n, to.xyz), 0.0);
    float visible = to.w;
#ifdef SHADOWS
    visible *= visibility(light, kind, first, p, n, cosine);
#endif
    float specular = cosine > 0.0 ? pow(max(dot(reflect(-to.xyz, n), v), 0.0), settings.x) : 0.0;
    vec3 highlight = light.specular.rgb * (specular * visible);
    return base * (light.ambient.rgb + light.diffuse.rgb * (cosine * visible)) + highlight * strength;
}
#endif

// strength: factors of the specular term.
vec3 phong(vec3 base, vec3 strength, vec3 p, vec3 n) {
#if LIGHTS > 0
    vec3 v = normalize(eye.xyz - eye.w * p);
    vec3 sum = vec3(0.0);
#define EACH_LIGHT(k, kind, first) sum += phong_term(lights[k], kind, first, base, strength, p, n, v);
    ALL_LIGHTS
#undef EACH_LIGHT
    return sum;
#else
    return base;
#endif
}

#ifdef SHADOWS
// Diffuse term of a light on a plane, with and without shadows; zero for a light that has none.
vec2 diffuse_terms(Light light, int kind, int first, vec3 p, vec3 n) {
    vec4 to = light_direction(light, kind, p);
    float cosine = max(dot(n, to.xyz), 0.0);
    float diffuse = cosine * to.w * dot(light.diffuse.rgb, vec3(0.2126, 0.7152, 0.0722));
    if (first < 0) return vec2(0.0);
    return diffuse * vec2(visibility(light, kind, first, p, n, cosine), 1.0);
}

// Fraction of the diffuse term of all lights with shadows that is in shadow, in 0..1.
float shadow_fraction(vec3 p, vec3 n) {
    vec2 sum = vec2(1e-6);
#define EACH_LIGHT(k, kind, first) sum += diffuse_terms(lights[k], kind, first, p, n);
    ALL_LIGHTS
#undef EACH_LIGHT
    return 1.0 - sum.x / sum.y;
}
#endif
