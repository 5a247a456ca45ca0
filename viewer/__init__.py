"""NumPy in, pixels out: stored studies in a window, in pictures and movies without a display, and as files to share.

PyOpenGL binds one platform in a process, at its first import. On Linux that has to be EGL, which serves windows and
drawing without a display alike; so it is chosen here, before anything of the viewer can import it.
"""

import os
import sys

if sys.platform.startswith("linux"):
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
