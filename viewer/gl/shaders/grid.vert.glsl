// Corners of the ground, with coordinates in its plane.
in vec3 position;
in vec4 colour;
out vec4 tint;
out vec3 world;

void main() {
    tint = colour;
    world = position;
    gl_Position = clip * vec4(position, 1.0);
}
