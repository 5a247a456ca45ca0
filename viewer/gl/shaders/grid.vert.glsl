// Corners of the ground, each with its place in the plane.
in vec3 position;
in vec4 colour;
out vec4 tint;
out vec3 world;

void main() {
    tint = colour;
    world = position;
    gl_Position = clip * vec4(position, 1.0);
}
