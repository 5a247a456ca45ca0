"""All codes that are there on one mechanism, in turn on the same cores: rates, beside how exact their loops are."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from shiftjax.bench.machine import version_of
from shiftjax.bench.rates import accuracy, ratio
from shiftjax.bench.rivals.hinge_tree import check_hinges, tree_of
from shiftjax.bench.rivals.judge import angles_of, judged
from shiftjax.bench.rivals.rival import Entrant, Race, Rival
from shiftjax.bench.timing import Timing, side_by_side, timed
from shiftjax.bench.watched_kernel import watched
from shiftjax.bench.workload import Workload
from shiftjax.errors import ModelError
from shiftjax.registry import Registry

CLOSED = 1e-9  # m: gaps of a file's start
MOVES_ALIKE, ALIKE_FOR = 0.1, 0.5  # rad, s: a code that differs by more until then moves something else
EVERY = 10  # steps between instants that are judged
CALL_S, MOST_STEPS = 0.3, 2_000  # of a timed call
TRIED = 16  # steps that tell how many a call has


def _array() -> Rival:
    from shiftjax.bench.rivals.array_code import ArrayRival

    return ArrayRival()


def _mujoco() -> Rival:
    from shiftjax.bench.rivals.mujoco_c import MujocoRival

    return MujocoRival()


def _mjx() -> Rival:
    from shiftjax.bench.rivals.mujoco_mjx import MjxRival

    return MjxRival()


def _warp() -> Rival:
    from shiftjax.bench.rivals.mujoco_warp import WarpRival

    return WarpRival()


def _pinocchio() -> Rival:
    from shiftjax.bench.rivals.pinocchio import PinocchioRival

    return PinocchioRival()


def _drake() -> Rival:
    from shiftjax.bench.rivals.drake import DrakeRival

    return DrakeRival()


def _dart() -> Rival:
    from shiftjax.bench.rivals.dart import DartRival

    return DartRival()


def _exudyn() -> Rival:
    from shiftjax.bench.rivals.exudyn import ExudynRival

    return ExudynRival()


def _jaxsim() -> Rival:
    from shiftjax.bench.rivals.jaxsim import JaxsimRival

    return JaxsimRival()


def _genesis() -> Rival:
    from shiftjax.bench.rivals.genesis import GenesisRival

    return GenesisRival()


def _kamino() -> Rival:
    from shiftjax.bench.rivals.newton_kamino import KaminoRival

    return KaminoRival()


# Each by its name; a value is called where the rival is wanted, and raises ImportError where its package is missing.
RIVALS: Registry[Callable[[], Rival]] = Registry(
    "rival",
    {
        "mujoco": _mujoco,
        "mjx": _mjx,
        "mujoco_warp": _warp,
        "pinocchio": _pinocchio,
        "drake": _drake,
        "dart": _dart,
        "exudyn": _exudyn,
        "genesis": _genesis,
        "jaxsim": _jaxsim,
        "kamino": _kamino,
        "array code": _array,
    },
)
PACKAGES = {
    "mjx": "mujoco-mjx", "mujoco_warp": "mujoco-warp", "pinocchio": "pin", "dart": "dartpy",
    "genesis": "genesis-world", "kamino": "newton", "array code": "jax",
}  # fmt: skip  # of pip, where they are called otherwise


def race_of(work: Workload, members: int, threads: int) -> Race:
    """The mechanism of a workload, for all codes.

    Raises:
        ModelError: one that others would not move as it moves here, that has no loop, whose file does not close its
            loops, or whose span ends between instants that are judged.
    """
    where = f"bench --rivals {work.name}"
    check_hinges(work.model, where)
    if work.step is None:
        raise ModelError(where, "a tolerance", "a step", "All codes take equal steps: leave --tolerance out.")
    steps = round(work.span / work.step)
    if not steps or steps % EVERY:
        few = f"whole multiples of {EVERY} steps, {EVERY * work.step:g} s"
        raise ModelError(where, f"a span of {work.span:g} s", few, "Give another --span or --step.")
    tree = tree_of(work.model)
    if not tree.cuts:
        todo = "Take four_bar, n_four_bar_5, bricard or bennett."
        raise ModelError(where, "no loop", "a mechanism whose loops are judged", todo)
    open_by = max(cut.open_by for cut in tree.cuts)
    if open_by > CLOSED:
        todo = "Write the angles of its start into the file."
        raise ModelError(where, f"a start whose loops are open by {open_by:.1e} m", f"{CLOSED:g} m", todo)
    varied = [link.path for link in tree.links].index(work.varied.removesuffix(".mass"))
    return Race(tree, varied, work.values(max(2, members)), work.step, steps, threads, work.precision)


def entered(race: Race, names: Sequence[str]) -> Iterator[tuple[str, str, str, Entrant | None, str]]:
    """Every setting of the rivals of these names: name, setting, its words, what runs it, and why none does."""
    for name in names:
        try:
            rival = RIVALS[name]()
        except ImportError as error:
            yield name, "", "", None, _lacking(name, error)
            continue
        for setting, words in rival.settings.items():
            try:
                yield name, setting, words, rival.enter(race, setting), ""
            except Exception as error:  # of a package that others wrote: whatever it is, the table goes on
                why = error.found if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
                yield name, setting, words, None, why.splitlines()[0]
                if isinstance(error, ModelError):
                    break  # of no setting


def _lacking(name: str, error: ImportError) -> str:
    """What an import misses, and how pip calls it where that is another name."""
    if not isinstance(error, ModuleNotFoundError):
        return f"{error}".splitlines()[0]
    module, package = error.name or name, PACKAGES.get(name, name)
    return f"no package {module}" + (f" (pip install {package})" if name in PACKAGES and package != module else "")


def raced(
    work: Workload, members: int, threads: int, rounds: int, names: Sequence[str], say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], KeyboardInterrupt | None]:
    """A mapping for every setting of every code, this one first: its settings, rates, gap, energy error and by how much
    its motion differs from ours, or why it does not run.

    Of this code whole calls are timed, starts and results included, and the part of them in which the kernel steps;
    of others steps alone. An interrupt while a code compiles or is checked leaves out that and those after it; the
    others take their turns, and it is returned, to be raised when they are written down.

    Args:
        members: of this code; others take as many as keep them busy. rounds: timed calls, in turn; medians count.
        names: of `RIVALS`. say: is told what is done.
    """
    race, stepping = race_of(work, members, threads), list[float]()
    first, motion = _ours(work, race, members)
    rows, calls, counts = [first], {0: partial(_watched_run, work, members, stepping)}, {0: first.pop("member_steps")}
    stopped: KeyboardInterrupt | None = None
    try:
        for row, entrant in _checked_ones(race, names, motion, say):
            rows.append(row)
            if entrant is not None:
                calls[len(rows) - 1] = partial(entrant.run, row["steps"])
                counts[len(rows) - 1] = row["steps"] * len(entrant.masses)
    except KeyboardInterrupt as stop:
        stopped = stop
        say("interrupted: what is not checked yet is left out")
    say("taking turns ...")
    timings, _ = side_by_side({str(k): call for k, call in calls.items()}, rounds)
    kernel = ratio(counts[0], statistics.median(stepping[1:]))
    for k, count in counts.items():
        rows[k] |= _rates(timings[str(k)], timings["0"], count, counts[0])
        rows[k]["times_stepping"] = ratio(kernel, rows[k]["steps_per_s"])
    return rows, stopped


def _checked_ones(
    race: Race, names: Sequence[str], motion: np.ndarray, say: Callable[[str], None]
) -> Iterator[tuple[dict[str, Any], Entrant | None]]:
    """A line of every setting of every code, and what runs it in so many steps as the line says; None where it has no
    rate."""
    for name, setting, words, entrant, why in entered(race, names):
        row: dict[str, Any] = {"code": name, "setting": setting, "words": words}
        row["version"] = version_of(PACKAGES.get(name, name))
        if entrant is None:
            yield row | {"skipped": why}, None
            continue
        say(f"{name}, {setting}: compiling and checking ...")
        try:
            row |= _checked(race, entrant, motion)
        except Exception as error:  # as above
            row["skipped"] = f"{type(error).__name__}: {error}".splitlines()[0]
        if "skipped" in row:
            yield row, None
        else:
            yield row | {"steps": _fitting(entrant)}, entrant


def _watched_run(work: Workload, members: int, stepping: list[float]) -> None:
    """A whole call; notes how long its kernel stepped [s]."""
    with watched(work.backend, copied=1) as watch:
        work.on(watch.backend).run(members)
        stepping.append(watch.stepping.wall_s)


def _ours(work: Workload, race: Race, members: int) -> tuple[dict[str, Any], np.ndarray]:
    """This code's line without its rate, and angles (instants, 2, hinges) of its first and last member, from the start
    pose, at the instants that are judged."""
    result = work.run(members)
    row = {
        "code": "shiftjax", "setting": work.backend, "words": "loops closed to rounding, whole calls",
        "version": version_of("shiftjax"), "members": members, "precision": work.precision,
        "steps": race.steps, "member_steps": float(np.sum(result.certificate["steps"])), **accuracy(result),
    }  # fmt: skip
    few = work.on("cpu")
    channels = [f"{link.joint}.q" for link in race.tree.links]
    recorded = few.run(2, channels=channels, precision="f64", output_step=EVERY * race.step)
    angles = np.stack([recorded.channels[c].T for c in channels], axis=-1)
    return row, angles - angles[0]


def _checked(race: Race, entrant: Entrant, motion: np.ndarray) -> dict[str, Any]:
    """What a code's motion is worth; a motion that is another one has no rate."""
    path, first = timed(lambda: entrant.path(race.steps, EVERY))
    differences = np.abs(angles_of(race.tree, path)[:, [0, -1]] - motion).max(
        (1, 2)
    )  # of the smallest and the largest mass
    early = float(differences[: 1 + round(ALIKE_FOR / race.step / EVERY)].max())
    figures = judged(race.tree, race.varied, np.asarray(entrant.masses)[: path[0].shape[1]], path)
    row: dict[str, Any] = {
        "members": len(entrant.masses), "precision": entrant.precision, "runs_on": entrant.device,
        "first_s": first.wall_s,
    }  # fmt: skip
    if not all(np.isfinite([differences.max(), *figures.values()])):
        return {**row, "skipped": "its motion is not finite"}
    row |= {"difference": float(differences.max()), **figures}
    return row | ({"skipped": f"it moves otherwise: by {early:.2g} rad"} if early > MOVES_ALIKE else {})


def _fitting(entrant: Entrant) -> int:
    """Steps of a call that takes long enough to be timed, an even number: some codes take two at a time."""
    timed(lambda: entrant.run(TRIED))
    took = max(timed(lambda: entrant.run(TRIED))[1].wall_s, 1e-6)
    return int(np.clip(TRIED * CALL_S / took, TRIED, MOST_STEPS)) // 2 * 2


def _rates(timing: Timing, reference: Timing, count: float, our_count: float) -> Mapping[str, Any]:
    """Member-steps a second of wall and of processor time, and how many times as many are ours, by the same clock."""
    wall, cpu = ratio(count, timing.wall_s), ratio(count, timing.cpu_s)
    return {
        "steps_per_s": wall,
        "steps_per_cpu_s": cpu,
        "times": ratio(ratio(our_count, reference.wall_s), wall),
        "times_cpu": ratio(ratio(our_count, reference.cpu_s), cpu),
    }
