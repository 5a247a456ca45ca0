"""The GUI library, imported in the order that works.

imgui-bundle carries a GLFW of its own: the one imported first serves both, so the prescribed package comes first.
"""

import glfw as glfw
from imgui_bundle import imgui as imgui
from imgui_bundle import implot as implot
