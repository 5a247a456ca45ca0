"""Lines that the help of a command ends with: one use of it each, on models of the library."""

from __future__ import annotations

FIRST_STEPS = """\
first steps:
  shiftjax models                                  the library of models
  shiftjax info four_bar --paths                   its numbers, units, channels
  shiftjax run four_bar --span 1 --channel rocker_pivot.q
  shiftjax COMMAND --help                          options, and examples
  shiftjax docs                                    the documentation, offline
"""
EXAMPLES: dict[str, tuple[str, ...]] = {
    "info": ("info four_bar", "info four_bar --paths"),
    "check": ("check four_bar", "check my_model.json", "check my_study.toml"),
    "run": (
        "run four_bar --span 1 --channel rocker_pivot.q --out run.csv",
        "run four_bar --span 2s --drive crank_pivot=60rpm --metric 'swing=peak_to_peak(rocker_pivot.q)'",
        "run my_study.zarr --member best:1:swing",
    ),
    "follow": ("follow four_bar --drive crank_pivot=0deg:360deg:73 --channel rocker_pivot.q --csv path.csv",),
    "branches": ("branches four_bar --at crank_pivot=40deg",),
    "travel": ("travel four_bar rocker_pivot", "travel four_bar crank_pivot rocker_pivot"),
    "ik": (
        "ik seven_axis_arm --place link7:flange=0.4,200mm,-0.6 --limit axis2=-120deg:120deg --tries 5",
        "ik four_bar --joint rocker_pivot=100deg",
    ),
    "workspace": ("workspace five_bar.json left:tip --picture reach.png",),
    "load": ("load scissor_lift --load 'model_parameters.gravity[2]=9.81:19.62' --poses 20",),
    "equilibrium": ("equilibrium scissor_lift",),
    "edit": (
        """edit four_bar --do "invert('rocker_pivot')" --out inverted.json""",
        "edit robot.urdf --out robot.json",
    ),
    "sweep": (
        "sweep four_bar --samples 1000 --span 2 --vary 'coupler:tip.T[0]=0.42:0.6~sobol' --channel rocker_pivot.q",
        "sweep four_bar --samples 1000 --span 2 --vary coupler.mass=0.5:2 --write my_study.toml",
        "sweep my_study.toml --resume",
    ),
    "optimize": ("optimize my_study.toml --out optimum.zarr --save best.json",),
    "sensitivity": ("sensitivity my_study.toml --out slopes.zarr",),
    "top": ("top my_study.zarr swing", "top my_study.zarr swing --smallest -n 3"),
    "report": ("report my_study.zarr --out report.html",),
    "render": (
        "render four_bar --out four_bar.png --view front",
        "render my_study.zarr --member worst:1 --out worst.mp4",
    ),
    "export": (
        "export my_study.zarr --html page.html --glb motion.glb",
        "export four_bar --span 2 --html four_bar.html",
    ),
    "models": ("models", "models --json"),
    "bench": ("bench four_bar --members 64 --span 0.1 --seconds 1", "bench --doctor"),
    "docs": ("docs", "docs gradients"),
    "view": ("view four_bar --live", "view my_study.zarr --ghosts 'worst:5 of kept'"),
}


def shown_examples(command: str) -> str | None:
    """The examples of a command as its help shows them, a long one on several lines; None where it has none."""
    lines = EXAMPLES.get(command)
    return "\n".join(["examples:", *map(_wrapped, lines)]) if lines else None


def _wrapped(line: str) -> str:
    """A line of up to 79 characters; a longer one goes on after a backslash, before an option."""
    text, *options = f"  shiftjax {line}".split(" --")
    rows = [text]
    for option in options:
        piece = f" --{option}"
        if len(rows[-1]) + len(piece) > 77:
            rows[-1] += " \\"
            rows.append("   ")
        rows[-1] += piece
    return "\n".join(rows)
