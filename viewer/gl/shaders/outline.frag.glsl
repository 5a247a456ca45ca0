// A band outside the mask: full up to its width from the nearest pixel of the mask, with an edge of one pixel.
uniform sampler2D picture;  // the mask; x: marked, y: under the cursor
out vec4 pixel;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy), last = textureSize(picture, 0) - 1;
    vec2 widths = vec2(BAND, THIN) * screen.w;
    int reach = int(ceil(widths.x + 0.5));
    vec2 nearest = vec2(1e6);
    for (int i = -reach; i <= reach; ++i)
        for (int k = -reach; k <= reach; ++k) {
            vec2 there = texelFetch(picture, clamp(at + ivec2(i, k), ivec2(0), last), 0).xy;
            nearest = min(nearest, mix(vec2(1e6), vec2(length(vec2(i, k))), step(0.5, there)));
        }
    vec2 band = (1.0 - texelFetch(picture, at, 0).xy) * clamp(widths + 0.5 - nearest, 0.0, 1.0);
    float opacity = outline.a * max(band.x, band.y);
    pixel = vec4(outline.rgb * opacity, opacity);
}
