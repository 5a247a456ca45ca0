"""What XLA is asked for in tests: compiling in half of the time or less, into slower code.

It compiles the small operations around a run, a fifth of the time of tests of gradients, and lane programs.
"""

from __future__ import annotations

from importlib.metadata import version

OPTIONS: dict[str, tuple[int, int]] = {  # name -> its value here, and the one that users have
    "xla_backend_optimization_level": (0, 3),
    "xla_cpu_use_fusion_emitters": (False, True),
    "xla_cpu_parallel_codegen_split_count": (1, 32),
}
if tuple(map(int, version("jaxlib").split(".")[:2])) >= (0, 11):  # ends the process at names that it does not know
    del OPTIONS["xla_cpu_use_fusion_emitters"]
QUICK, AS_USED = ({name: values[place] for name, values in OPTIONS.items()} for place in (0, 1))
FLAGS = " ".join(f"--{name}={value}".lower() for name, value in QUICK.items())  # of the environment
