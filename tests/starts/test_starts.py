"""What is stated of a start is what runs: a table of situations against poses in closed form, none of them silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftjax import ConstantSpeed, Outcome, Polynomial, load, simulate
from shiftjax.formats.writer import to_dict
from shiftjax.mechanism.model import Model
from shiftjax.run.options import options_of
from shiftjax.run.start.assembly import start_of
from shiftjax.run.start.prepare import prepare
from shiftjax.run.start.prepared import Prepared
from shiftjax.run.start.stated import Start
from tests.support.complete import part
from tests.support.models import start_mechanisms as given
from tests.support.models.start_mechanisms import (
    COUPLER,
    CRANK,
    GROUND,
    LOWER,
    PIVOT,
    ROCKER,
    UPPER,
    angle,
    meeting,
    tip,
    wrapped,
)

KEPT = 1e-12  # rad or m: the last projection moves a held joint by rounding at most
POSE = 1e-9  # rad or m: closed form and Gauss-Newton, near a flat pose rounding is magnified
SIDES = (1, -1)


def started(model: Model, **arguments: Any) -> tuple[Prepared, Start, dict[str, np.ndarray]]:
    """A model's start and the coordinates of its joints of one coordinate, by plain name."""
    prepared = prepare(model, arguments.pop("vary", {}), options_of(**arguments))
    start = start_of(prepared)
    joints = [joint for joint in prepared.plan.joints if joint.nq == 1]
    return prepared, start, {joint.path.split(":")[-1]: start.q[joint.q] for joint in joints}


def hinge(crank: Any, side: int, lengths: tuple[Any, ...] = (CRANK, COUPLER, ROCKER, GROUND)) -> Any:
    """The rocker's angle of a four-bar."""
    a, b, c, g = lengths
    pin = meeting(tip(a, crank), np.array([g, 0.0 * np.asarray(g)]), b, c, side)
    return angle([pin[0] - g, pin[1]])


def six_bar_pose(crank: float, side: int, second: int) -> dict[str, float]:
    rocker = hinge(crank, side)
    end, far = np.array([GROUND, 0.0]) + tip(ROCKER, rocker), np.array(PIVOT)
    joint = meeting(end, far, UPPER, LOWER, second)
    return {"hinge": rocker, "far_hinge": angle(joint - far)}


def five_bar_elbow(left: float, right: float, side: int) -> float:
    """The angle of the second link against the first."""
    a, b = tip(0.3, left), np.array([GROUND, 0.0]) + tip(0.3, right)
    return float(angle(meeting(a, b, 0.4, 0.4, side) - a)) - left


def slider(crank: float) -> list[float]:
    return [CRANK * np.cos(crank) + side * np.sqrt(COUPLER**2 - (CRANK * np.sin(crank)) ** 2) for side in SIDES]


FOUR = {"crank": -1.0, "elbow": 0.5, "hinge": -1.5, "top": -1.0}
Check = Callable[[dict[str, np.ndarray]], bool]


def on(joint: str, *allowed: float) -> Check:
    """A joint stands at one of some angles."""
    return lambda q: min(abs(wrapped(q[joint][0] - value)) for value in allowed) < POSE


def at(joint: str, value: float) -> Check:
    return lambda q: abs(q[joint][0] - value) < KEPT


ANGLES = (-2.9, -2.0, -0.6, 0.4, 1.0, 2.5)
SITUATIONS: dict[str, tuple[Callable[[], Model], dict[str, Any], int, tuple[Check, ...]]] = {
    # name: model, assigned numbers, status, what must hold
    **{
        f"four-bar, only the crank says {c}": (
            lambda c=c: given.four_bar(crank=c), {}, 0,
            (at("crank_joint", c), on("hinge", *(hinge(c, s) for s in SIDES))),
        )
        for c in ANGLES
    },
    **{
        f"four-bar set to {c}, the branch is the file's": (
            lambda: given.four_bar(**FOUR), {"crank_joint.initial_displacement": c}, 0,
            (at("crank_joint", c), on("hinge", hinge(c, 1))),
        )
        for c in ANGLES
    },
    "four-bar, the crank says zero": (
        lambda: given.four_bar(crank=0.0), {}, 0, (at("crank_joint", 0.0), on("hinge", *(hinge(0.0, s) for s in SIDES)))
    ),
    **{
        f"four-bar, crank and a rocker near branch {side}": (
            lambda side=side: given.four_bar(crank=-1.0, hinge=float(hinge(-1.0, side)) + 0.01), {}, 0,
            (at("crank_joint", -1.0), on("hinge", hinge(-1.0, side))),
        )
        for side in SIDES
    },
    "four-bar, only the rocker says -1.7": (lambda: given.four_bar(hinge=-1.7), {}, 0, (at("hinge", -1.7),)),
    "four-bar, all say what does not close": (
        lambda: given.four_bar(**FOUR), {}, 0, (at("crank_joint", -1.0), on("hinge", hinge(-1.0, 1)))
    ),
    "four-bar, nothing is stated": (lambda: given.four_bar(), {}, 0, ()),
    "four-bar, a rocker beyond its reach": (
        lambda: given.four_bar(**FOUR), {"hinge.initial_displacement": 0.3}, -2,
        (lambda q: abs(q["hinge"][0] - 0.3) > 0.01,),
    ),
    **{
        f"six-bar, only the crank says {c}": (
            lambda c=c: given.six_bar(crank=c), {}, 0,
            (at("crank_joint", c),
             on("far_hinge", *(six_bar_pose(c, a, b)["far_hinge"] for a in SIDES for b in SIDES))),
        )
        for c in (-2.0, -1.0, 0.5, 1.0, 2.0)
    },
    "six-bar, crank and the dyads near": (
        lambda: given.six_bar(crank=1.0, hinge=six_bar_pose(1.0, -1, 1)["hinge"] + 0.1,
                              far_hinge=six_bar_pose(1.0, -1, 1)["far_hinge"] - 0.1), {}, -2,
        (at("crank_joint", 1.0), on("hinge", six_bar_pose(1.0, -1, 1)["hinge"]),
         on("far_hinge", six_bar_pose(1.0, -1, 1)["far_hinge"])),
    ),
    **{
        f"five-bar, both cranks say {left} and {right}": (
            lambda left=left, right=right: given.five_bar(left=left, right=right), {}, 0,
            (at("left", left), at("right_joint", right), on("up", *(five_bar_elbow(left, right, s) for s in SIDES))),
        )
        for left, right in ((-2.0, -1.1), (0.0, -2.0), (-1.0, 0.5), (1.0, 2.0), (0.0, 0.0))
    },
    "five-bar, one crank says -2, the rest is near the file's": (
        lambda: given.five_bar(left=-2.0), {}, 0, (at("left", -2.0),)
    ),
    "five-bar, cranks too far apart": (
        lambda: given.five_bar(left=np.pi, right=0.0), {}, -2,
        (at("left", np.pi), lambda q: abs(q["right_joint"][0]) > 0.1),
    ),
    **{
        f"RSSR, only the crank says {c}": (
            lambda c=c: given.rssr(c), {}, 0, (at("crank_joint", c), on("hinge", *given.rssr_hinges(c)))
        )
        for c in (0.6, 1.5, -0.9)
    },
    "RSSR, the rocker's side is stated": (
        lambda: given.rssr(0.6, given.rssr_hinges(0.6)[1]), {}, 0,
        (at("crank_joint", 0.6), on("hinge", given.rssr_hinges(0.6)[1])),
    ),
    **{
        f"slider crank, only the crank says {c}": (
            lambda c=c: given.slider_crank(crank=c), {}, 0,
            (at("crank_joint", c),
             lambda q, c=c: min(abs(q["guide"][0] - place) for place in slider(c)) < POSE),
        )
        for c in (0.0, 1.0, -2.0)
    },
    "slider crank, the slider says 0.55": (lambda: given.slider_crank(guide=0.55), {}, 0, (at("guide", 0.55),)),
    "slider crank, the slider beyond its reach": (
        lambda: given.slider_crank(crank=0.5, guide=0.6), {"guide.initial_displacement": 0.9}, -2,
        (lambda q: q["guide"][0] < 0.7 + POSE,),
    ),
}  # fmt: skip


def test_there_are_forty_situations() -> None:
    assert len(SITUATIONS) >= 40


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation(name: str) -> None:
    """The pose in closed form, and a status and a change where something stated is not kept."""
    make, assign, status, checks = SITUATIONS[name]
    model = make()
    _, start, q = started(model, assign=assign)
    assert start.closed.all() and start.gap.max() < (1e-12 if status == 0 else 1e-10)  # a pose at its limit is singular
    for check in checks:
        assert check(q), {joint: value[0] for joint, value in q.items()}
    result = simulate(model, span=1e-3, assign=assign)
    assert result.status == status, result.messages
    assert result.notes or result.certificate["start_change"] == 0.0  # a rounded joint that follows is a note
    assert ("starts at" in result.messages[0]) == (status == Outcome.start_changed)
    assert status == 0 or result.certificate["start_change"] > 0


def test_zero_speed_is_stated_and_a_missing_one_is_free() -> None:
    """A motor that says 0 rests like one that says 1e-12; one that says nothing moves with the others."""
    document = to_dict(given.five_bar(left=-2.0, right=-1.1))
    right = next(j for j in document["assemblies"][0]["joints"] if j["name"] == "right_joint")
    next(j for j in document["assemblies"][0]["joints"] if j["name"] == "left")["initial_velocity"] = 1.0
    speeds = {}
    for word, value in (("zero", {"initial_velocity": 0.0}), ("tiny", {"initial_velocity": 1e-12}), ("free", {})):
        for key in ("initial_velocity",):
            right.pop(key, None)
        right.update(value)
        prepared, start, _ = started(load(document))
        speeds[word] = start.v[prepared.plan.joints[prepared.plan.joint_index("a:right_joint")].v, 0]
    assert speeds["zero"] == 0.0 and speeds["tiny"] == 1e-12 and abs(speeds["free"]) > 0.1


def test_a_contradicted_zero_speed_is_reported() -> None:
    document = to_dict(given.four_bar(**FOUR | {"hinge": float(hinge(-1.0, -1))}))
    joints = {j["name"]: j for j in document["assemblies"][0]["joints"]}
    joints["crank_joint"]["initial_velocity"] = 2.0
    joints["hinge"]["initial_velocity"] = 0.0
    result = simulate(load(document), span=0.01)
    assert result.status == Outcome.start_changed and "a:hinge starts at" in result.messages[0]


def test_writing_keeps_what_is_stated_and_adds_nothing() -> None:
    """Round trip: a stated zero comes back, a missing key stays missing."""
    model = given.four_bar(crank=0.0, hinge=1.4)
    joints = {j["name"]: j for j in to_dict(model)["assemblies"][0]["joints"]}
    assert joints["crank_joint"]["initial_displacement"] == 0.0 and "initial_velocity" not in joints["crank_joint"]
    assert "initial_displacement" not in joints["elbow"]
    assert load(to_dict(model)) == model
    named = model.replace({"elbow.initial_displacement": 0.2})
    assert "initial_displacement" in dict(named.joints())["a:elbow"].stated


def test_vary_set_replace_and_a_file_start_alike() -> None:
    """The same designs, four ways: starts to 1e-12, trajectories of set and replace to the last bit."""
    model = load("four_bar")
    rng = np.random.default_rng(7)
    paths = [f"{body}:tip.T[0]" for body in ("crank", "coupler", "rocker")] + ["crank_pivot.initial_displacement"]
    full = [model.resolve(path) for path in paths]
    near = [model.numbers()[path] for path in full]
    designs = np.array(near)[:, None] * rng.uniform(0.9, 1.1, (4, 8))
    together = simulate(model, span=0.2, vary=dict(zip(paths, designs, strict=True)), channels=["crank_pivot.q"])
    for k, own in enumerate(designs.T):
        values = dict(zip(paths, own, strict=True))
        alone = simulate(model, span=0.2, assign=values, channels=["crank_pivot.q"])
        replaced = simulate(model.replace(values), span=0.2, channels=["crank_pivot.q"])
        assert np.array_equal(alone.channels["crank_pivot.q"], replaced.channels["crank_pivot.q"])
        varied = together.channels["crank_pivot.q"][k]  # numbers of a set model are folded into its code
        assert np.abs(alone.channels["crank_pivot.q"] - varied).max() < 1e-11
        written = load(to_dict(model.replace(values)))
        q_file, q_vary = started(written)[2], started(model, assign=values)[2]
        assert max(abs(q_file[name][0] - q_vary[name][0]) for name in q_vary) < 1e-12


def test_random_four_bars_stand_where_they_should() -> None:
    """Stated angle and the file's branch wherever the design can close at that angle; else the change is reported."""
    rng, members = np.random.default_rng(3), part(6000, 1500)
    lengths = rng.uniform(0.2, 1.6, (4, members))
    crank = rng.uniform(-np.pi, np.pi, members)
    names = ("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]", "fixed:rocker_pivot.T[0]")
    vary = {**dict(zip(names, lengths, strict=True)), "crank_pivot.initial_displacement": crank}
    _, start, q = started(load("four_bar"), vary=vary)
    expected = hinge(crank, -1, tuple(lengths))
    can = np.isfinite(expected)
    assert 0.5 < can.mean() < 0.7
    off = np.abs(wrapped(q["rocker_pivot"] - expected))
    silent = ~start.unsure & ~start.changed & start.closed
    assert np.abs(q["crank_pivot"] - crank)[silent].max() < KEPT
    assert off[can & silent].max() < 1e-6  # near a flat pose rounding is magnified by its square root
    assert (can & ~silent).mean() <= 1e-3 and not (~can & silent).any()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_parallelograms_stay_parallel_through_flat_poses(n: int) -> None:
    crank = np.random.default_rng(n).uniform(-np.pi, np.pi, 1000 if n < 5 else 200)
    _, start, q = started(load(f"n_four_bar_{n}"), vary={"pivot_0.initial_displacement": crank})
    sure = ~start.unsure & ~start.changed
    assert start.closed.all() and sure.mean() > 0.99
    for k in range(n + 1):
        assert np.abs(wrapped(q[f"pivot_{k}"] - crank))[sure].max() < 1e-7


@pytest.mark.parametrize("name", ["klann", "jansen"])
def test_a_thousand_cranks_turn_all_round(name: str) -> None:
    crank = np.linspace(-np.pi, np.pi, 1000)
    _, start, q = started(load(name), vary={"crank_pivot.initial_displacement": crank})
    assert start.closed.all() and not start.changed.any() and not start.unsure.any()
    assert np.abs(q["crank_pivot"] - crank).max() < KEPT
    assert len(set(start.branch)) == 1  # no Assur group changes its assembly


def test_a_length_sweep_keeps_the_input_angle() -> None:
    """Within 14 % of a link, and beyond, until the loop cannot close there; then it says so."""
    lengths = ROCKER * np.linspace(0.05, 1.95, 141)
    _, start, q = started(load("four_bar"), vary={"rocker:tip.T[0]": lengths})
    stated = load("four_bar").numbers()["four_bar:crank_pivot.initial_displacement"]
    can = np.isfinite(hinge(stated, -1, (CRANK, COUPLER, lengths, GROUND)))
    assert (q["crank_pivot"][can] == stated).all() and not start.changed[can].any()
    assert (start.changed | ~start.closed)[~can].all() and (~can).any()


def test_strict_start_does_not_run_changed_members() -> None:
    lengths = ROCKER * np.array([1.0, 0.1])
    free = simulate("four_bar", span=0.01, vary={"rocker:tip.T[0]": lengths})
    strict = simulate("four_bar", span=0.01, vary={"rocker:tip.T[0]": lengths}, strict_start=True)
    assert free.status.tolist()[0] == strict.status[0] == 0
    assert free.status[1] == Outcome.start_changed or free.status[1] == Outcome.not_assembled
    assert strict.status[1] == Outcome.not_assembled and np.isnan(strict.certificate["energy_error"][1])
    assert strict.messages[1].count("starts at") == (free.status[1] == Outcome.start_changed)


def test_an_overconstrained_loop_keeps_its_joint() -> None:
    """A frame turned about a joint's own axis opens the file's pose; the stated joint still stays."""
    _, start, q = started(load("bennett"), assign={"link1:tip.rotation[2]": 0.1})
    assert start.closed.all() and not start.changed.any() and abs(q["joint1"][0] - 0.6) < KEPT
    document = to_dict(load("bennett").replace({"link1:tip.rotation[2]": 0.1}))
    _, start, q = started(load(document))
    assert start.closed.all() and abs(q["joint1"][0] - 0.6) < KEPT


def test_a_delta_whose_file_does_not_close_stands_on_no_wrong_side_unsaid() -> None:
    """Rods too short for the file's own pose: they spin freely, so that no sign of a Jacobian tells the side."""
    rod, members = 0.42, 24
    rods = {f"rod_{side}_{k}:tip.T[2]": rod for side in ("left", "right") for k in (1, 2, 3)}
    model = load(to_dict(load("delta").replace(rods)))
    angles = np.random.default_rng(0).uniform(-1.2, 1.2, (3, members))
    vary = {f"shoulder_{k + 1}.initial_displacement": angles[k] for k in range(3)}
    prepared = prepare(model, vary)
    start, joints = start_of(prepared), {joint.path.split(":")[-1]: joint for joint in prepared.plan.joints}
    w, x, y, z = start.q[joints["elbow_left_1"].q :][:4]
    along = rod * np.array([2 * (x * z + w * y), 1 - 2 * (x * x + y * y)])  # the rod in the frame of its arm
    turned = start.q[joints["shoulder_1"].q]
    height = -0.3 * np.sin(turned) - np.sin(turned) * along[0] + np.cos(turned) * along[1]
    right, mirrored, feasible = given.delta_heights(angles, rod)
    kept, sure = start.closed & ~start.changed, start.closed & ~start.unsure
    assert not (kept & sure & (np.abs(height - right) > POSE)).any()
    found = [(kept & feasible & (np.abs(height - side) < POSE)).sum() for side in (right, mirrored)]
    assert found[0] > 0.6 * feasible.sum() > 9 and found[1] < 0.1 * found[0]


OFF = 0.3  # rad


@pytest.mark.parametrize("own", [False, True])
def test_what_a_drive_does_not_move_is_kept_or_reported(own: bool) -> None:
    """A rocker stated where the crank does not have it; who drives the crank from elsewhere has the others follow."""

    def begun(hinge: float, drive: Any) -> Start:
        model = given.four_bar(crank=-1.0, hinge=hinge)
        if own:
            model, drive = prepare(model, {}, options_of(drive={"crank_joint": drive})).model, {}
            return started(load(to_dict(model)))[1]
        return started(model, drive={"crank_joint": drive})[1]

    right, speed = float(hinge(-1.0, 1)), ConstantSpeed(2.0)
    assert not begun(right, speed).changed.any() and started(given.four_bar(crank=-1.0, hinge=right + OFF))[1].changed
    start = begun(right + OFF, speed)
    assert start.changed.all() and abs(start.change[0] - OFF) < POSE
    assert not begun(right, Polynomial((0.8, 2.0))).changed.any(), "the others follow, a note tells of the crank"
    assert not started(given.four_bar(crank=-1.0, hinge=right + OFF), vary={"crank_joint.initial_displacement": [-0.9]},
                       drive={"crank_joint": speed})[1].changed.any()  # fmt: skip
