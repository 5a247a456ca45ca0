// Loose vertices in the world; the grid's carry their place in the plane instead of a colour.
in vec3 position;
in vec4 colour;
out vec4 tint;
out vec3 world;

void main() {
    tint = colour;
    world = position;
    gl_Position = clip * vec4(position, 1.0);
}
