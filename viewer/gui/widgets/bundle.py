"""The GUI library, imported in the order that works.

imgui-bundle contains another GLFW: the one imported first serves both, so the required package comes first.
"""

import glfw as glfw
from imgui_bundle import imgui as imgui
from imgui_bundle import implot as implot
