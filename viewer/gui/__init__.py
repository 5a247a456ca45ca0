"""The window: one state, one table of keys, panes drawn from the state, and the loop that shows them."""

import shiftjax.viewer.gl  # noqa: F401  sets PyOpenGL's platform before the GUI library's renderer imports it
