"""Pictures of our own runs: an ensemble, branches, convergence, topology, repartitions, singular poses, operations."""

from __future__ import annotations

from collections import Counter

import numpy as np
from bench_kernel import counted
from figures.style import BLUE, DARK, GREEN, GREY, ORANGE, RED, WIDE, bar, figure, ground, sketch, write

import shiftjax
from shiftjax.bench.operations import pieces_of_a_step
from shiftjax.bench.watched_kernel import watched
from shiftjax.kernels.llvm.target import host

COLOURS = (BLUE, ORANGE, GREEN, RED)
NEAR = 0.05  # s about the pass through a flat pose that is shown
FINEST = 2.0**-5 * 1e-3  # s


def ensemble() -> None:
    rng = np.random.default_rng(0)
    designs = {"coupler:tip.T[0]": rng.uniform(0.42, 0.6, 1000), "rocker:tip.T[0]": rng.uniform(0.35, 0.5, 1000)}
    result = shiftjax.simulate(
        "four_bar", 2.0, output_step=0.01, channels=["rocker_pivot.q"], vary=designs, hold=["crank_pivot"]
    )
    angles = result.channels["rocker_pivot.q"]
    swing = np.ptp(angles, axis=1)
    drawn, (left, right) = figure(WIDE, 2)
    for member in range(0, 1000, 40):
        left.plot(result.time, angles[member], color=BLUE, alpha=0.35, lw=0.8)
    left.set(xlabel="time [s]", ylabel="rocker [rad]", title="25 of 1 000 members")
    dots = right.scatter(*designs.values(), c=swing, s=5, cmap="viridis")
    right.set(xlabel="coupler [m]", ylabel="rocker [m]", title="all 1 000")
    drawn.colorbar(dots, label="swing [rad]")
    write(drawn, "ensemble.png")


def branches() -> None:
    model = shiftjax.load("four_bar")
    numbers = model.numbers()
    crank, coupler, rocker = (numbers[f"four_bar:{name}:tip.T[0]"] for name in ("crank", "coupler", "rocker"))
    pivot = np.array([numbers["fixed:rocker_pivot.T[0]"], 0.0])
    tip = crank * np.array([np.cos(np.pi / 3), np.sin(np.pi / 3)])
    apart = float(np.hypot(*(pivot - tip)))
    along = (pivot - tip) / apart
    foot = (apart**2 + coupler**2 - rocker**2) / (2 * apart)
    height = float(np.sqrt(coupler**2 - foot**2))
    drawn, both = sketch((7.2, 3.4), 2)
    for axes, side, name in zip(both, (1, -1), ("the file's branch", "the other one"), strict=True):
        joint = tip + foot * along + side * height * np.array([-along[1], along[0]])
        bar(axes, (0, 0), tip, BLUE)
        bar(axes, tip, joint, ORANGE)
        bar(axes, pivot, joint, GREEN)
        ground(axes, (0, 0), 0.022)
        ground(axes, pivot, 0.022)
        angle = np.arctan2(joint[1], joint[0] - pivot[0])
        axes.set_title(f"{name}: rocker at {angle:.2f} rad", fontsize=10)
        axes.set(xlim=(-0.08, 0.66), ylim=(-0.42, 0.45))
    both[0].text(0.02, 0.13, "crank", color=BLUE, ha="right")
    both[0].text(0.28, 0.33, "coupler", color=ORANGE, ha="right")
    both[0].text(0.55, 0.2, "rocker", color=GREEN)
    write(drawn, "branches.svg")


def convergence() -> None:
    steps = np.array([8e-3, 4e-3, 2e-3, 1e-3, 0.5e-3, 0.25e-3])
    ends, energies = [], []
    for step in (*steps, FINEST):
        run = shiftjax.simulate("four_bar", 1.0, step, output_step=1.0, channels=["rocker_pivot.q"])
        ends.append(run.channels["rocker_pivot.q"][-1])
        energies.append(float(run.certificate["energy_error"]))
    drawn, axes = figure((5.2, 3.2))
    axes.loglog(1e3 * steps, energies[:-1], "o-", label="energy error [1]")
    axes.loglog(1e3 * steps, np.abs(np.subtract(ends[:-1], ends[-1])), "s-", label="angle of the rocker at 1 s [rad]")
    axes.loglog(1e3 * steps, 1e-8 * (1e3 * steps) ** 4, color=GREY, ls="--", label="fourth power of the step")
    axes.set(xlabel="step [ms]", ylabel="error")
    axes.set_xticks(1e3 * steps, [f"{1e3 * step:g}" for step in steps])
    axes.set_xticks([], minor=True)
    axes.legend(fontsize=9)
    write(drawn, "convergence.svg")


def topology() -> None:
    report = shiftjax.info(shiftjax.load("excavator"))
    short = {path: path.rpartition(":")[2] for edge in report["tree"] for path in (edge["from"], edge["to"])}
    levels: dict[str, int] = {"fixed": 0}
    for edge in report["tree"]:
        if not edge["chord"]:
            levels[edge["to"]] = edge["level"]
    rows = {level: [body for body in levels if levels[body] == level] for level in sorted(set(levels.values()))}
    place = {
        body: (1.15 * level, k - (len(bodies) - 1) / 2)
        for level, bodies in rows.items()
        for k, body in enumerate(bodies)
    }
    owner = {joint: k for k, one in enumerate(report["substructures"]) for joint in one["joints"]}
    drawn, axes = figure((8.6, 4.4))
    axes.set_axis_off()
    for edge in report["tree"]:
        colour = COLOURS[owner[edge["joint"]]] if edge["joint"] in owner else DARK
        start, end = np.array(place[edge["from"]]), np.array(place[edge["to"]])
        bend = 0.25 if edge["chord"] else 0.0
        style = {"arrowstyle": "-", "color": colour, "lw": 1.8, "ls": (0, (4, 2)) if edge["chord"] else "-"}
        axes.annotate("", end, start, arrowprops={**style, "connectionstyle": f"arc3,rad={bend}"}, zorder=1)
    box = {"boxstyle": "round,pad=0.25", "fc": "white", "ec": GREY}
    for body, (x, y) in place.items():
        label = short.get(body, body).replace("_", "\n")
        axes.text(x, y, label, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    counts = [f"{one['loops']} loop{'s' * (one['loops'] > 1)}" for one in report["substructures"]]
    for k, count in enumerate(counts):
        axes.plot([], [], color=COLOURS[k], lw=2, label=f"substructure {k}: {count}")
    axes.plot([], [], color=DARK, lw=2, label="joint of the tree outside loops")
    axes.plot([], [], color=GREY, lw=2, ls="--", label="cut joint")
    axes.legend(loc="upper left", fontsize=9)
    x, y = np.array(list(place.values())).T
    axes.set(xlim=(x.min() - 0.6, x.max() + 0.6), ylim=(y.min() - 0.5, y.max() + 0.9))
    write(drawn, "topology.svg")


def partitions() -> None:
    fast = {"joint1.initial_velocity": 6.0}
    run = shiftjax.simulate("bricard", 2.0, 1e-3, output_step=2e-3, channels=["substructure[0].b_norm"], assign=fast)
    drawn, axes = figure(WIDE)
    axes.plot(run.time, run.channels["substructure[0].b_norm"], lw=1.2)
    for k, line in enumerate(run.log):
        axes.axvline(line["time"], color=ORANGE, lw=0.8, ls="--", label="repartition" if k == 0 else None)
        axes.text(line["time"] + 0.006, 2.12, line["new"][0].rpartition(":")[2], color=ORANGE, fontsize=7, rotation=90)
    axes.set(xlabel="time [s]", ylabel="largest entry of B", ylim=(0, 2.6))
    axes.legend(loc="lower right", fontsize=9)
    write(drawn, "partitions.svg")


def singular() -> None:
    run = shiftjax.simulate(
        "n_four_bar_2", 10.0, 1e-3, output_step=1e-3, channels=["pivot_0.q", "substructure[0].pivot_ratio"]
    )
    assert run.schedule is not None
    moved = run.schedule.clock[run.schedule.substructure < 0] * 1e-3
    drawn, (left, right) = figure(WIDE, 2)
    left.plot(run.time, run.channels["pivot_0.q"])
    left.set(xlabel="time [s]", ylabel="crank 0 [rad]")
    near = np.abs(run.time - moved[0]) < NEAR
    right.semilogy(run.time[near], run.channels["substructure[0].pivot_ratio"][near], ".-", ms=3, lw=0.8)
    for axes, times in ((left, moved), (right, moved[:1])):
        for k, time in enumerate(times):
            axes.axvline(time, color=RED, lw=1, label="steps moved" if k == 0 else None)
    left.legend(loc="lower left", fontsize=9)
    right.set(xlabel="time [s]", ylabel="pivot ratio", title="about the first of them")
    write(drawn, "singular.svg")


def operations() -> None:
    names = ("four_bar", "slider_crank", "klann", "jansen", "bricard", "n_four_bar_5")
    counts = {name: (_operations(name, every=False), _operations(name, every=True)) for name in names}
    drawn, axes = figure((6.4, 3.0))
    y = np.arange(len(names))
    for k, (label, colour) in enumerate((("one mass varied", BLUE), ("all numbers varied", ORANGE))):
        values = [counts[name][k] for name in names]
        bars = axes.barh(y - 0.2 + 0.4 * k, values, 0.38, color=colour, label=label)
        axes.bar_label(bars, [f"{value:,}".replace(",", " ") for value in values], padding=3, fontsize=8)
    axes.set_yticks(y, names)
    axes.invert_yaxis()
    axes.set_xlabel("scalar operations of an RK4 step, projection included")
    axes.set_xlim(0, 1.15 * max(max(pair) for pair in counts.values()))
    axes.legend(fontsize=9, loc="upper right")
    write(drawn, "operations.svg")


def _operations(name: str, *, every: bool) -> int:
    """Operations of a step with one mass or with all masses, lengths and angles of frames as lane values."""
    model = shiftjax.load(name)
    described = model.described()
    wanted = ("kg", "kg m^2", "m", "rad") if every else ("kg",)
    paths = [path for path, number in described.items() if number.unit in wanted and not number.role.of_start]
    paths = paths if every else paths[:1]
    vary = {path: np.full(2, described[path].value) for path in paths}
    with watched("cpu") as watch:
        shiftjax.simulate(model, 1e-3, 1e-3, vary=vary, backend=watch.backend)
    total: Counter[str] = Counter()
    for times, piece in pieces_of_a_step(watch.program):
        for kind, count in counted(piece, host("f64")).items():
            total[kind] += times * count
    return sum(total.values())


PICTURES = (ensemble, branches, convergence, topology, partitions, singular, operations)
