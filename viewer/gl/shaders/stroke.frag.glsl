in vec4 tint;
out vec4 pixel;

void main() {
    pixel = vec4(tint.rgb * tint.a, tint.a);
}
