// Uniform block of all shaders, uploaded once a frame. Only vec4 and mat4, so that std140 packs tightly.
struct Light {
    vec4 position;   // [m]; w: cosine of a spot's cone
    vec4 direction;  // unit; w: cosine of the part of the cone in full light
    vec4 ambient;    // w: size of a texel of the shadow map, in metres or in metres a metre of depth
    vec4 diffuse;
    vec4 specular;
};

layout(std140) uniform Frame {
    mat4 clip;      // world to clip space
    vec4 eye;       // w = 1: position [m]; w = 0: direction to the eye of an orthographic camera
    vec4 settings;  // shininess, spacing of the grid [m], radius at which the grid has faded [m], share of the sides of the
                    // picture in those that it is shown at
    vec4 up;
    vec4 screen;  // width and height of the picture, half the width of a line [pixels], pixels of the screen's unit
    vec4 outline;  // colour about what is marked
#if LIGHTS > 0
    Light lights[LIGHTS];
#endif
#if LAYERS > 0
    mat4 layers[LAYERS];  // world to the clip space of a shadow map
#endif
};
