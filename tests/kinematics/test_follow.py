"""`follow` and `travel`: poses along a path of drivers. E1, S21."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.outcome import Outcome
from shiftjax.run.closing.host_evaluation import closure
from shiftjax.run.start.prepare import prepare
from tests.support.complete import part
from tests.support.models.flat_linkages import linkage
from tests.support.models.planar_four_bars import angles, four_bar
from tests.support.models.start_mechanisms import slider_crank

ROUNDING = 1e-12  # rad: some roundings, which the distance to the end of a travel magnifies
DEGREE = np.pi / 180.0


def turned(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Differences of angles without whole turns."""
    return (values - by + np.pi) % (2.0 * np.pi) - np.pi


@pytest.mark.parametrize(("branch", "rocker"), [(-1, 57.3248800704), (1, -98.0049640780)])
def test_a_four_bar_stands_where_a_book_says(branch: int, rocker: float) -> None:
    """Norton, Design of Machinery, example 4-1: 57.33 and -98.01 degrees; the digits from the closed form."""
    model = four_bar((40.0, 120.0, 80.0, 100.0), 1.3, branch)
    path = shiftjax.follow(model, {"crank_pivot": np.linspace(1.3, 40.0 * DEGREE, 9)}, channels=["rocker_pivot.q"])
    assert path.status == Outcome.ok
    assert abs(turned(path.channels["rocker_pivot.q"][-1], np.array(rocker * DEGREE))) < 1e-10 * DEGREE  # of the digits


def test_both_branches_over_a_turn_with_their_rates() -> None:
    lengths, u = (2.0, 7.0, 9.0, 6.0), np.linspace(0.3, 0.3 + 2.0 * np.pi, 361)
    names = [f"rocker_pivot.{what}" for what in "qva"]
    for branch in (1, -1):
        path = shiftjax.follow(four_bar(lengths, 0.3, branch), {"crank_pivot": u}, channels=names)
        q, v, a = (path.channels[name] for name in names)
        assert np.abs(turned(q, angles(lengths, u, branch)[1])).max() < ROUNDING
        h = 1e-3
        five = [angles(lengths, u + k * h, branch)[1] for k in (-2, -1, 1, 2)]
        slope = (8.0 * turned(five[2], five[1]) - turned(five[3], five[0])) / (12.0 * h)
        assert np.abs(v - slope).max() < 1e-10  # of the differences
        middle = angles(lengths, u, branch)[1]
        bend = 16.0 * (turned(five[2], middle) - turned(middle, five[1]))
        bend = (bend - (turned(five[3], middle) - turned(middle, five[0]))) / (12.0 * h * h)
        assert np.abs(a - bend).max() < 1e-7  # of the differences, which divide roundings by h^2
    assert path.units["rocker_pivot.v"] == "rad/rad"
    assert path.units["rocker_pivot.a"] == "rad/rad^2"
    assert path.certificate["gap"] < 1e-13


def test_dead_points_swing_and_ratio_of_times() -> None:
    """2, 7, 9, 6: rocker at rest at cos = 1/3 and at -1/3 half a turn on; kinematics.md row 2."""
    lengths = (2.0, 7.0, 9.0, 6.0)
    at = np.array([0.3, 70.528779366 * DEGREE, np.pi, 289.471220634 * DEGREE])
    model = four_bar(lengths, 0.3)
    path = shiftjax.follow(model, {"crank_pivot": at}, channels=["rocker_pivot.q", "rocker_pivot.v"])
    assert np.abs(path.channels["rocker_pivot.v"][[1, 3]]).max() < 1e-10  # of the digits of the angles
    swing = abs(path.channels["rocker_pivot.q"][3] - path.channels["rocker_pivot.q"][1])
    assert swing == pytest.approx(38.942441269 * DEGREE, abs=1e-11)
    reach = shiftjax.travel(model, "rocker_pivot")
    assert reach.high - reach.low == pytest.approx(38.942441269 * DEGREE, abs=1e-9)  # to which ends are found
    crank = shiftjax.travel(model, "crank_pivot")
    assert crank.unlimited


def test_a_coupler_curve_is_a_sextic() -> None:
    """Points (3, 2) of the coupler on both branches lie on one curve of degree 6, and on none of degree 5 (row 3)."""
    lengths, u = (2.0, 7.0, 9.0, 6.0), np.linspace(0.3, 0.3 + 2.0 * np.pi, 181)
    points = []
    for branch in (1, -1):
        path = shiftjax.follow(
            four_bar(lengths, 0.3, branch),
            {"crank_pivot": u},
            channels=["coupler:origin.position", "coupler:tip.position"],
        )
        origin, tip = (path.channels[f"coupler:{end}.position"][:, :2] for end in ("origin", "tip"))
        along = (tip - origin) / 7.0
        points.append(origin + 3.0 * along + 2.0 * np.stack([-along[:, 1], along[:, 0]], axis=1))
    x, y = (np.concatenate(points) - np.mean(np.concatenate(points), axis=0)).T / 5.0
    smallest = {}
    for degree in (5, 6):
        terms = [x**i * y**j for i in range(degree + 1) for j in range(degree + 1 - i)]
        sizes = np.linalg.svd(np.array(terms).T, compute_uv=False)
        smallest[degree] = sizes[-1] / sizes[0]
    assert smallest[6] < 5e-15
    assert smallest[5] > 1e-5


def test_roberts_cognates_draw_the_same_curve() -> None:
    """The cognate on the crank's pivot of 2, 7, 9, 6 with coupler point (3, 2), led by its coupler (row 4).

    Chebyshev, Roberts: its ground, crank, coupler and rocker are z times ground, coupler, crank and rocker, z the point
    in parts of the coupler, so that in axes turned by z they stand at the same angles.
    """
    u, z = np.linspace(0.3, 0.3 + 2.0 * np.pi, 181), (3.0 + 2.0j) / 7.0
    ends = [f"coupler:{end}.position" for end in ("origin", "tip")]

    def corners(path: shiftjax.Result) -> list[np.ndarray]:
        return [path.channels[end][:, 0] + 1j * path.channels[end][:, 1] for end in ends]

    a, b = corners(shiftjax.follow(four_bar((2.0, 7.0, 9.0, 6.0), 0.3), {"crank_pivot": u}, channels=ends))
    point, coupler = a + z * (b - a), np.unwrap(np.angle(b - a))
    lengths = [abs(z) * length for length in (7.0, 2.0, 9.0, 6.0)]
    assert np.allclose(lengths, (3.605551275464, 1.030157507275, 4.635708782739, 3.090472521826), atol=1e-12)
    cognate = linkage(tuple(lengths), (coupler[0], 0.3, float(np.angle(b[0] - 6.0))))  # type: ignore[arg-type]
    d, e = corners(shiftjax.follow(cognate, {"pin": u - coupler}, channels=ends))
    assert np.abs(np.exp(1j * np.angle(z)) * (d + (e - d) / z) - point).max() < ROUNDING * 10  # of metres


@pytest.mark.parametrize(("lengths", "cosine"), [((5.0, 4.0, 4.0, 6.0), -0.05), ((5.0, 4.0, 3.0, 6.0), 0.2)])
def test_the_ends_of_a_crank_that_does_not_turn_round(lengths: tuple[float, ...], cosine: float) -> None:
    """Non-Grashof and change-point linkages, by the law of cosines (row 5)."""
    theta = 0.7
    reach = shiftjax.travel(four_bar(lengths, theta), "crank_pivot")  # type: ignore[arg-type]
    assert reach.high == pytest.approx(np.arccos(cosine), abs=1e-9)
    assert reach.low == pytest.approx(-np.arccos(cosine), abs=1e-9)
    path = shiftjax.follow(four_bar(lengths, theta), {"crank_pivot": np.linspace(theta, 2.0, 50)}, channels=["pin.q"])  # type: ignore[arg-type]
    assert path.status == Outcome.locked
    assert f"{np.arccos(cosine):.9g}"[:9] in path.messages[0]
    there = np.isfinite(path.channels["pin.q"])
    assert there.sum() == np.searchsorted(np.linspace(theta, 2.0, 50), np.arccos(cosine))


def test_travels_that_begin_at_their_own_dead_points() -> None:
    """A four-bar's rocker by the law of cosines, on either assembly; a leg of two loops, from each of its ends."""
    straight = float(np.arccos((0.7**2 + 0.5**2 - 0.4**2) / (2.0 * 0.7 * 0.5)))  # crank and coupler in line
    off = np.array([0.0, 1e-12, 1e-9, 1e-8, 3e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
    vary = {"crank_pivot.initial_displacement": straight + np.append(off, -off)}
    ends = shiftjax.travel("four_bar", "rocker_pivot", vary=vary)
    low, high = (np.pi - np.arccos((0.5**2 + 0.4**2 - side**2) / (2.0 * 0.5 * 0.4)) for side in (0.7, 0.3))
    assert np.abs(ends.low - low).max() < 1e-12 and np.abs(ends.high - high).max() < 1e-12
    leg = shiftjax.load("klann")
    whole = shiftjax.travel(leg, "elbow")
    for pose in (whole.at_low, whole.at_high):
        there = leg.replace({f"{joint}.initial_displacement": float(place) for joint, place in pose.items()})
        again = shiftjax.travel(there, "elbow")
        assert min(abs(again.begin - whole.low), abs(again.begin - whole.high)) < ROUNDING
        assert abs(again.low - whole.low) < ROUNDING and abs(again.high - whole.high) < ROUNDING


def test_paths_come_to_the_very_end_of_a_travel() -> None:
    """Even and uneven, of several members: where coupler and rocker lie on one line, to the root of a rounding."""
    lengths, theta, end = (5.0, 4.0, 4.0, 6.0), 0.7, float(np.arccos(-0.05))
    there = (
        np.arctan2(-5.0 * np.sin(end), 6.0 - 5.0 * np.cos(end)) - np.pi
    )  # from the crank's tip to the rocker's pivot
    model, evenly = four_bar(lengths, theta), np.linspace(theta, end, 20)
    for way in (evenly, np.append(np.linspace(theta, 1.6, 9), end)):
        for order in (0, 2):
            path = shiftjax.follow(model, {"crank_pivot": way}, channels=["rocker_pivot.q"], order=order)
            assert path.status == Outcome.ok
            assert abs(turned(path.channels["rocker_pivot.q"][-1], there)) < 2e-7
            assert path.certificate["gap"] < 1e-13
    ways = np.stack([evenly, np.linspace(theta, 1.5, 20), np.linspace(theta, 1.7, 20)])
    both = shiftjax.follow(model, {"crank_pivot": ways}, channels=["rocker_pivot.q"])
    assert both.status.tolist() == [Outcome.ok, Outcome.ok, Outcome.locked]
    back = shiftjax.follow(model, {"crank_pivot": np.append(evenly, evenly[::-1])}, channels=["rocker_pivot.q"])
    assert back.status == Outcome.locked
    assert "pose 19 is there" in back.messages[0]
    assert np.isfinite(back.channels["rocker_pivot.q"]).sum() == 20


@pytest.mark.parametrize("branch", [1, -1])
def test_paths_begin_at_the_very_end_of_a_travel(branch: int) -> None:
    """On the drawn assembly, from one end to the other; next to an end, too."""
    lengths, end = (5.0, 4.0, 4.0, 6.0), float(np.arccos(-0.05))
    model, names = four_bar(lengths, 0.7, branch), ["rocker_pivot.q"]
    for way in (np.linspace(end, -end, 41), np.array([end, 1.6, 1.2, 0.7]), np.linspace(end - 1e-10, 0.0, 7)):
        path = shiftjax.follow(model, {"crank_pivot": way}, channels=names)
        assert path.status == Outcome.ok
        off = turned(path.channels["rocker_pivot.q"], angles(lengths, way, branch)[1])
        assert np.abs(off[1:-1]).max() < ROUNDING
        assert np.abs(off[[0, -1]]).max() < 2e-7  # to the root of a rounding


def test_random_four_bars_come_back_to_the_branch_on_which_they_began() -> None:
    """To 1e-7 rad of the ends of their travels and back, some hundred designs; 10 000: `bench_follow.py` (row 19)."""
    rng, count = np.random.default_rng(5), part(1000, 400)
    lengths = rng.uniform((0.1, 0.3, 0.25), (0.45, 0.7, 0.6), (count, 3)).T
    vary: dict[str, np.ndarray] = dict(
        zip(("crank:tip.T[0]", "coupler:tip.T[0]", "rocker:tip.T[0]"), lengths, strict=True)
    )
    ends = shiftjax.travel("four_bar", "crank_pivot", vary=vary)
    some = ends.assembled & np.isfinite(ends.high)
    assert some.mean() > 0.3
    share = np.concatenate([np.linspace(0.0, 1.0, 30), np.linspace(1.0, 0.0, 30)[1:]])
    way = ends.begin[some, None] + (ends.high - 1e-7 - ends.begin)[some, None] * share
    path = shiftjax.follow(
        "four_bar", {"crank_pivot": way}, channels=["rocker_pivot.q"], vary={k: v[some] for k, v in vary.items()}
    )
    assert (path.status == Outcome.ok).all()
    q = path.channels["rocker_pivot.q"]
    assert np.abs(q[:, -1] - q[:, 0]).max() < ROUNDING
    assert np.abs(q[:, ::-1] - q)[:, :25].max() < 1e-8  # next to an end a place is known to the root of its rounding


def test_members_poses_and_orders_do_not_depend_on_each_other() -> None:
    """A member of a batch is one that is followed alone; fewer derivatives give the same places; steps share them."""
    lengths, u = np.linspace(0.48, 0.53, 5), np.linspace(1.0, 4.0, 31)
    names = ["rocker_pivot.q"]
    whole = shiftjax.follow("four_bar", {"crank_pivot": u}, vary={"coupler:tip.T[0]": lengths}, channels=names)
    alone = shiftjax.follow("four_bar", {"crank_pivot": u}, vary={"coupler:tip.T[0]": lengths[3:4]}, channels=names)
    assert np.array_equal(whole.channels[names[0]][3], alone.channels[names[0]][0])
    for order in (0, 1):
        less = shiftjax.follow(
            "four_bar", {"crank_pivot": u}, order=order, vary={"coupler:tip.T[0]": lengths}, channels=names
        )
        assert np.abs(less.channels[names[0]] - whole.channels[names[0]]).max() < ROUNDING
        assert less.certificate["gap"].max() < 1e-12
    speeds = [
        shiftjax.follow("four_bar", {"crank_pivot": u}, order=order, channels=["rocker_pivot.v"]) for order in (1, 2)
    ]
    assert np.abs(speeds[0].channels["rocker_pivot.v"] - speeds[1].channels["rocker_pivot.v"]).max() < ROUNDING
    uneven = shiftjax.follow("four_bar", {"crank_pivot": u[[0, 3, 4, 20, 30]]}, channels=[*names, "rocker_pivot.v"])
    reference = shiftjax.follow("four_bar", {"crank_pivot": u}, channels=[*names, "rocker_pivot.v"])
    for name in uneven.channels:
        assert np.abs(uneven.channels[name] - reference.channels[name][[0, 3, 4, 20, 30]]).max() < ROUNDING


def test_paths_by_time_have_the_rates_of_a_driven_run() -> None:
    times, names = np.linspace(0.0, 1.0, 41), ["rocker_pivot.q", "rocker_pivot.v", "rocker_pivot.a"]
    law = shiftjax.Harmonic(amplitude=0.4, frequency=6.0)
    path = shiftjax.follow("four_bar", {"crank_pivot": law}, times, channels=[*names, "crank_pivot.drive_load"])
    run = shiftjax.simulate(
        "four_bar",
        1.0,
        0.0125,
        drive={"crank_pivot": law},
        output_step=0.025,
        channels=[*names, "crank_pivot.drive_load"],
    )
    for name in path.channels:
        size = np.abs(run.channels[name]).max()
        assert np.abs(path.channels[name] - run.channels[name]).max() < 1e-12 * size
    q, v, a = (run.channels[f"rocker_pivot.{what}"] for what in "qva")
    crank = [law.amplitude * np.sin(6.0 * times) + np.pi / 3.0, 2.4 * np.cos(6.0 * times), -14.4 * np.sin(6.0 * times)]
    by_arrays = shiftjax.follow("four_bar", {"crank_pivot": tuple(crank)}, times, channels=names)
    for name, values in zip(names, (q, v, a), strict=True):
        assert np.abs(by_arrays.channels[name] - values).max() < 1e-11


DRIVEN = {
    "bennett": ["joint3"],
    "bricard": ["joint4"],
    "klann": ["crank_pin"],
    "bicycle_brake": ["cable_right"],
    "delta": ["shoulder_1", "shoulder_2", "shoulder_3"],
    "stewart": [f"leg_{k}" for k in range(1, 7)],
    "three_slider_cranks": [f"{which}_crank_pin" for which in ("first", "second", "third")],
}


@pytest.mark.parametrize("name", DRIVEN)
def test_library_models_follow_their_drivers(name: str) -> None:
    """One, three and six drivers, several substructures, redundant rows, idle rods: there and back, closed by NumPy."""
    model = shiftjax.load(name)
    prepared = prepare(model, {})
    begin = {model.resolve(joint): 0.0 for joint in DRIVEN[name]}
    places = {one.path: float(prepared.file_start.q[one.q, 0]) for one in prepared.plan.coordinates}
    share = np.concatenate([np.linspace(0.0, 1.0, 5), np.linspace(1.0, 0.0, 5)[1:]])
    sizes = np.linspace(0.02, 0.03, len(begin))  # rad or m
    drive = {path: places[path] + size * share for path, size in zip(begin, sizes, strict=True)}
    there = shiftjax.follow(model, {path: way[:5] for path, way in drive.items()})
    back = shiftjax.follow(model, drive)
    assert (there.status, back.status) == (Outcome.ok, Outcome.ok)
    assert there.notes == () or ("rod_left_1" in there.notes[-1] and name == "delta")
    assert there.final is not None and back.final is not None
    for s in range(len(prepared.plan.substructures)):
        residuals = closure(prepared.file_lane(), there.final["q"][:, None], s)[0]
        assert np.abs(residuals).max() < 1e-14 + prepared.file_start.gap[0] / prepared.setup.length
    for one in prepared.plan.coordinates:
        if one.path in drive:
            assert abs(there.final["q"][one.q] - drive[one.path][4]) < 1e-14
    spins = 1e-9 if name == "delta" else 1e-11  # no driver leads the spins of its rods
    assert np.abs(back.final["q"] - prepared.file_start.q[:, 0]).max() < spins


def test_no_masses_are_asked_for() -> None:
    builder = shiftjax.ModelBuilder()
    part = builder.assembly("arm")
    part.body("bar", frames={"tip": (0.4, 0.0, 0.0)})
    part.joint("pivot", "Rz", child="bar")
    path = shiftjax.follow(builder.build(), {"pivot": [0.0, 0.5, 1.0]}, channels=["bar:tip.position"])
    assert np.allclose(
        path.channels["bar:tip.position"][-1], 0.4 * np.array([np.cos(1.0), np.sin(1.0), 0.0]), atol=1e-15
    )


@pytest.mark.parametrize(
    ("model", "drive", "more", "message"),
    [
        ("four_bar", {}, {}, "no driven joint"),
        ("four_bar", {"crank_pivot": 3.0}, {}, "np.linspace"),
        ("four_bar", {"crank_pivot": shiftjax.ConstantSpeed(1.0)}, {}, "without times"),
        ("four_bar", {"crank": [0.0, 1.0]}, {}, "crank_pivot"),
        ("four_bar", {"crank_pivot": [0.0, np.nan]}, {}, "no number"),
        ("four_bar", {"crank_pivot": [0.0, 1.0]}, {"times": [0.0, 1.0, 2.0]}, "lengths"),
        ("four_bar", {"crank_pivot": [0.0, 1.0]}, {"times": [0.0, 0.0]}, "rise"),
        ("four_bar", {"crank_pivot": [0.0, 1.0]}, {"order": 4}, "0, 1, 2 or 3"),
        ("four_bar", {"crank_pivot": [0.0, 1.0]}, {"order": 0, "channels": ["rocker_pivot.v"]}, "speeds or acc"),
        ("four_bar", {"crank_pivot": [0.0, 1.0]}, {"order": 1, "channels": ["rocker_pivot.a"]}, "of accelerations"),
        ("four_bar", {"crank_pivot": [0.0, 1.0], "four_bar:crank_pivot": [0.0, 1.0]}, {}, "two motions"),
        ("three_slider_cranks", {"first_crank_pin": [0.0, 1.0]}, {}, "2 freedoms that no driver leads"),
        (
            "four_bar",
            {"crank_pivot": np.zeros((2, 3))},
            {"vary": {"coupler:tip.T[0]": [0.5] * 3}},
            "one number of members",
        ),
    ],
)
def test_what_is_refused(model: str, drive: dict, more: dict, message: str) -> None:
    with pytest.raises(shiftjax.ModelError, match=message):
        shiftjax.follow(model, drive, **more)


def test_a_drive_from_a_dead_point_is_not_said_to_lack_another_one() -> None:
    """A slider-crank drawn straight: one drive is as many as it has freedoms, but this one moves nothing there."""
    straight = slider_crank(crank=0.0, elbow=0.0, guide=0.7)
    for call in (lambda: shiftjax.follow(straight, {"guide": [0.7, 0.6]}), lambda: shiftjax.travel(straight, "guide")):
        with pytest.raises(shiftjax.ModelError, match=r"a:guide, whose drive moves nothing here: a dead.*crank"):
            call()


def test_jerks_are_the_slopes_of_accelerations() -> None:
    """By the driven joint along a path, and by time of a run that a law drives; of a spatial loop, too."""
    h = 1e-3
    u = 1.0 + h * np.arange(9)
    for model, driven, other in (("four_bar", "crank_pivot", "rocker_pivot"), ("bricard", "joint4", "joint2")):
        names = [f"{other}.a", f"{other}.jerk"]
        begin = u if model == "four_bar" else u - 1.0 + _drawn(model, driven)
        path = shiftjax.follow(model, {driven: begin}, channels=names)
        a, jerk = (path.channels[name] for name in names)
        middle = (a[:-4] - 8.0 * a[1:-3] + 8.0 * a[3:-1] - a[4:]) / (12.0 * h)
        assert np.abs(jerk[2:-2] - middle).max() < 1e-9 * max(1.0, np.abs(jerk).max())  # of the differences
        assert path.units[names[1]] == "rad/rad^3"
    law = shiftjax.Harmonic(amplitude=0.4, frequency=6.0)
    run = shiftjax.simulate(
        "four_bar", 0.1, 1e-3, drive={"crank_pivot": law}, output_step=1e-3, channels=["crank_pivot.jerk"]
    )
    assert np.abs(run.channels["crank_pivot.jerk"] + 0.4 * 6.0**3 * np.cos(6.0 * run.time)).max() < 1e-11
    with pytest.raises(shiftjax.ModelError, match="no driver says"):
        shiftjax.simulate("four_bar", 0.1, channels=["crank_pivot.jerk"])


def test_jerks_along_uneven_paths() -> None:
    """By the driven joint as along an even one; by time those of a driven run, of a law and of stated rates."""
    u, names = np.linspace(1.0, 4.0, 61), ["rocker_pivot.jerk", "crank_pivot.jerk"]
    some = np.sort(np.append(np.arange(0, 61, 7), np.arange(3, 61, 11)))
    even = shiftjax.follow("four_bar", {"crank_pivot": u}, order=3, channels=names)
    uneven = shiftjax.follow("four_bar", {"crank_pivot": u[some]}, order=3, channels=names)
    assert np.abs(uneven.channels[names[0]] - even.channels[names[0]][some]).max() < ROUNDING
    times, law = np.linspace(0.0, 1.0, 21), shiftjax.Harmonic(amplitude=0.4, frequency=6.0)
    run = shiftjax.simulate("four_bar", 1.0, 0.025, drive={"crank_pivot": law}, output_step=0.05, channels=names)
    path = shiftjax.follow("four_bar", {"crank_pivot": law}, times, channels=names)
    phase = 6.0 * times
    rates = 0.4 * np.sin(phase) + np.pi / 3.0, 2.4 * np.cos(phase), -14.4 * np.sin(phase)
    stated = shiftjax.follow("four_bar", {"crank_pivot": rates}, times, channels=names)
    for name in names:
        assert np.abs(path.channels[name] - run.channels[name]).max() < 1e-12 * np.abs(run.channels[name]).max()
        # of the spline through accelerations at twenty places of a turn
        assert np.abs(stated.channels[name] - run.channels[name]).max() < 0.02 * np.abs(run.channels[name]).max()


def _drawn(model: str, joint: str) -> float:
    """Where a joint of a library model stands as it is drawn."""
    prepared = prepare(shiftjax.load(model), {})
    return next(float(prepared.file_start.q[one.q, 0]) for one in prepared.plan.coordinates if joint in one.path)


def test_slopes_of_poses_are_those_of_inverse_dynamics() -> None:
    """Its channels are the poses of a path, and JAX differentiates them by implicit functions; against differences."""
    u, names, h = np.linspace(1.1, 2.0, 3), ["rocker_pivot.q", "rocker_pivot.v", "rocker_pivot.mobility"], 1e-5

    def poses(length: jax.Array) -> jax.Array:
        motion = {"crank_pivot": (u, np.ones(3), np.zeros(3))}
        answer = shiftjax.inverse_dynamics("four_bar", motion, channels=names, vary={"coupler:tip.T[0]": length})
        return jnp.concatenate([answer.channels[name].ravel() for name in names])

    slopes = np.ravel(jax.jacobian(poses)(jnp.array([0.5])))
    lengths = [0.5 + h, 0.5 - h]
    path = shiftjax.follow("four_bar", {"crank_pivot": u}, channels=names, vary={"coupler:tip.T[0]": lengths})
    high, low = (np.concatenate([path.channels[name][k] for name in names]) for k in (0, 1))
    assert (
        np.abs((high - low) / (2.0 * h) - slopes).max() < 1e-8
    )  # of the differences, whose third derivatives are of 30

    def followed(length: jax.Array) -> jax.Array:
        answer = shiftjax.follow("four_bar", {"crank_pivot": u}, channels=names, vary={"coupler:tip.T[0]": length})
        return jnp.concatenate([answer.channels[name].ravel() for name in names])

    assert np.abs(np.ravel(jax.jacobian(followed)(jnp.array([0.5]))) - slopes).max() < 1e-12  # of rounding


def test_single_precision_follows_long_paths() -> None:
    """Strides end where the clock of f32 has no finer ones; rounding of some radians is no change of a pose."""
    u = np.linspace(1.0, 7.28, 400)
    fine, coarse = (
        shiftjax.follow("four_bar", {"crank_pivot": u}, precision=p, channels=["rocker_pivot.q"])
        for p in ("f64", "f32")
    )
    assert coarse.status == Outcome.ok
    assert np.abs(fine.channels["rocker_pivot.q"] - coarse.channels["rocker_pivot.q"]).max() < 2e-5


@pytest.mark.parametrize("joint", ["joint1", "joint2", "joint3", "joint4"])
def test_rows_that_become_dependent_are_exchanged(joint: str) -> None:
    """Bennett's loop is regular all the way round, four of its rows are not; tan(a/2) tan(b/2) stays (row 11)."""
    u = np.linspace(0.3, 6.6, 91)
    path = shiftjax.follow("bennett", {joint: u}, channels=["joint1.q", "joint2.q"])
    assert path.status == Outcome.ok
    halves = np.tan(0.5 * path.channels["joint1.q"]), np.tan(0.5 * path.channels["joint2.q"])
    assert np.abs(halves[0] * halves[1] + 2.0).max() < 1e-9  # next to pi one is large
    assert path.certificate["gap"] < 1e-13
    assert shiftjax.singularities("bennett", {joint: u}) == ()


def test_a_spatial_linkage_of_balls_without_masses() -> None:
    """RSSR: its rod spins idly; slopes against differences, few strides halved, back where it began."""
    builder = shiftjax.ModelBuilder()
    builder.frame("far", T=(2.0, 0.5, 0.3))
    part = builder.assembly("m")
    for name, tip in (("crank", (0.5, 0, 0)), ("coupler", (2.0, 0, 0)), ("rocker", (0, 0, 1.2))):
        part.body(name, frames={"tip": tip})
    part.joint("pivot", "Rz", child="crank", initial_displacement=0.3)
    part.joint("far_pivot", "Rx", parent=("fixed", "far"), child="rocker", initial_displacement=1.3)
    part.joint("near_ball", "spherical", parent=("crank", "tip"), child="coupler")
    part.joint("far_ball", "spherical", parent=("coupler", "tip"), child=("rocker", "tip"))
    model, h = builder.build(), 0.01
    u = np.concatenate([np.arange(0.3, 0.9, h), np.arange(0.9, 0.295, -h)])
    path = shiftjax.follow(model, {"pivot": u}, channels=["far_pivot.q", "far_pivot.v"])
    assert path.status == Outcome.ok
    assert path.certificate["rejected"] < 20
    q, v = (path.channels[f"far_pivot.{what}"] for what in "qv")
    slope = (q[:-4] - 8.0 * q[1:-3] + 8.0 * q[3:-1] - q[4:]) / (12.0 * h)
    assert np.abs(slope - v[2:-2])[:50].max() < 1e-6  # of the differences
    assert abs(q[-1] - q[0]) < ROUNDING
    assert "coupler can move alone" in path.notes[-1]
    ends = shiftjax.travel(model, "pivot")
    assert ends.low < 0.3 < ends.high


def test_travels_begin_where_designs_stand() -> None:
    lengths = np.linspace(0.3, 0.6, 4)
    ends = shiftjax.travel("four_bar", "rocker_pivot", vary={"coupler:tip.T[0]": lengths})
    stands = shiftjax.assemble("four_bar", vary={"coupler:tip.T[0]": lengths}, channels=["rocker_pivot.q"])
    assert ends.assembled.all()
    assert np.abs(ends.begin - stands.channels["rocker_pivot.q"][:, 0]).max() < 1e-9
    stated = shiftjax.travel("four_bar", "crank_pivot", vary={"crank_pivot.initial_displacement": [0.5, 4.0]})
    assert np.abs(stated.begin - (0.5, 4.0)).max() < 1e-12
    assert shiftjax.travel("three_slider_cranks", "first_crank_pin").unlimited  # whatever the other loops do
    assert shiftjax.travel("double_pendulum", "shoulder").unlimited


def test_equations_lead_paths_and_laws_have_members() -> None:
    builder = shiftjax.ModelBuilder()
    part = builder.assembly("m")
    for name in ("left", "right"):
        part.body(f"{name}_wheel")
        part.joint(name, "Rz", child=f"{name}_wheel")
    model, tie = builder.build(), {"gear": "left.q == -2 * right.q"}
    path = shiftjax.follow(model, {"left": [0.0, 0.5, 1.0]}, tie=tie, channels=["right.q", "right.v"])
    assert np.allclose(path.channels["right.q"], [0.0, -0.25, -0.5], atol=1e-15)
    assert np.allclose(path.channels["right.v"], -0.5, atol=1e-15)
    with pytest.raises(shiftjax.ModelError, match="follows time"):
        shiftjax.follow(model, {"left": [0.0, 0.5]}, tie={"gear": "left.q == -2 * right.q + 0.1 * t"})
    times = np.linspace(0.0, 1.0, 5)
    laws = shiftjax.follow(
        "four_bar", {"crank_pivot": shiftjax.ConstantSpeed(np.array([1.0, 2.0]))}, times, channels=["crank_pivot.q"]
    )
    assert np.allclose(laws.channels["crank_pivot.q"], np.pi / 3 + np.outer([1.0, 2.0], times), atol=1e-14)


def test_what_a_path_says_of_its_parameter() -> None:
    u = np.linspace(1.0, 2.0, 5)
    path = shiftjax.follow("four_bar", {"crank_pivot": u}, channels=["crank_pivot.drive_load"])
    assert "give times=" in path.notes[-1]
    assert path.final is not None and not path.final["v"].any()
    assert path.to_xarray()["channels"].to_dataset()["time"].attrs == {
        "units": "rad",
        "long_name": "four_bar:crank_pivot.q",
    }
    assert "5 poses by four_bar:crank_pivot.q" in repr(path)
