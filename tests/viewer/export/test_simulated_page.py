"""A page that simulates (F26): its WebAssembly beside the processor's kernel, bit for bit; what a reader sees of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shiftjax
from shiftjax.cli import main
from shiftjax.ensembles.execution.again import again
from shiftjax.ensembles.execution.page_lanes import lane_runs
from shiftjax.errors import ModelError
from shiftjax.kernels.wasm.fused_text import fused_text
from shiftjax.kernels.wasm.object_file import module_of
from shiftjax.kernels.wasm.target import browser as wasm
from shiftjax.kernels.wasm.target import object_code
from shiftjax.run.advance.schedule import Schedule
from shiftjax.viewer.export.simulation import page_runs
from shiftjax.viewer.study.study import ViewedStudy
from tests.support.browser import Browser
from tests.viewer.export.test_export_page import CHROMIUM, needs_chromium
from tests.viewer.export.test_views import read

ROUNDING = 1e-13  # rad, m or J: some roundings
DRIVEN = {"crank_pivot_drive.speed": 3.0, "crank_pivot_drive.offset": 0.8}  # rad/s and rad, of a four-bar
MEMBERS, COUPLER = 12, "four_bar:coupler:tip.T[0]"
DECLARED = "declare double @llvm.fabs.f64(double)\n"
RECORDED = """(async (rows) => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const block = Uint8Array.from(atob(document.getElementById("binary").textContent), (c) => c.charCodeAt(0));
  const source = simulatedStudy(data.runs, block.buffer, FUSES), parts = [];
  for (const row of rows) parts.push(new Uint8Array((await source.recorded(row)).out.buffer));
  for (const values of DESIGNS) parts.push(new Uint8Array((await source.tried(values)).out.buffer));
  return parts.map((part) => btoa(Array.from(part, (byte) => String.fromCharCode(byte)).join("")));
})(ROWS)"""
PLACES = """(() => {
  const box = (name) => document.querySelector(name).getBoundingClientRect(), panel = box("#try > div");
  return [panel.left, panel.right, box("#numbers span").right, box("#numbers input").left];
})()"""
FUSED = """(async () => {
  const of = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const memory = new WebAssembly.Memory({ initial: 2 });
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, 65536);
  const env = { __linear_memory: memory, __stack_pointer: stack };
  const { instance } = await WebAssembly.instantiate(of("CODE"), { env });
  const given = new Float64Array(of("GIVEN").buffer), out = new Float64Array(given.length / 3);
  out.forEach((_, k) => { out[k] = instance.exports.fma(...given.subarray(3 * k, 3 * k + 3)); });
  return btoa(Array.from(new Uint8Array(out.buffer), (byte) => String.fromCharCode(byte)).join(""));
})()"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with Browser(str(CHROMIUM), (1280, 800)) as tab:
        yield tab


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four-bars of several lengths, one of which cannot be assembled; of the first the motion was kept."""
    path = tmp_path_factory.mktemp("bars") / "bars.zarr"
    lengths = [*np.linspace(0.45, 0.55, MEMBERS - 1), 2.0]
    definition = shiftjax.Definition(
        model="four_bar", span=0.3, step=1e-3, output_step=0.01, keep=[0], vary={COUPLER: lengths},
        channels=["rocker_pivot.q", "crank:tip.position"], metrics={"swing": "peak_to_peak(rocker_pivot.q)"},
    )  # fmt: skip
    return shiftjax.sweep(definition, path).path


def _moved(schedule: Schedule, member: int) -> list[int]:
    """Steps of a member between both ends of those that were moved off singular poses."""
    moved = (schedule.member == member) & (schedule.substructure < 0)
    counts = [len(schedule.patterns[k]) for k in schedule.choice[moved]]
    return [int(step) + k for step, count in zip(schedule.clock[moved], counts, strict=True) for k in range(1, count)]


def recorded(
    tab: Browser, rows: Sequence[int], designs: Sequence[Sequence[float]] = (), fuses: str = "null"
) -> list[np.ndarray]:
    """What a page records of members, by their places among those that it simulates, and of designs, one after the
    other; with the browser's own multiply-adds, or without."""
    script = RECORDED.replace("ROWS", json.dumps([*rows])).replace("DESIGNS", json.dumps([*designs]))
    return [doubles(text) for text in tab.value(script.replace("FUSES", fuses))]


def doubles(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text))


@needs_chromium
def test_multiply_adds_of_a_browser_round_once(opened: Browser) -> None:
    """Against exact fractions: of any sizes, where both terms cancel, next to halves of a rounding; infinities."""
    rng, count = np.random.default_rng(0), 4000
    a, b = rng.normal(size=(2, count)) * 2.0 ** rng.integers(-60, 60, (2, count))
    c = rng.normal(size=count) * 2.0 ** rng.integers(-120, 120, count)
    c[: count // 4] = -(a * b)[: count // 4]  # the rounding of the product is left
    c[count // 4 : count // 2] = (a * b * 2.0**53)[count // 4 : count // 2]  # about half of a rounding is added
    odd = np.array([(np.inf, 1.0, 1.0), (np.nan, 1.0, 1.0), (0.0, 3.0, -0.0), (1e300, 1e300, 1.0), (1.0, 1.0, np.inf)])
    given = np.concatenate([np.stack([a, b, c], axis=1), odd])
    opened.open("about:blank")
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in given[:count]]
    assert not np.array_equal(a * b + c, exact)  # two roundings are others
    for relaxed in (False, True):  # this browser on this processor; a page tries whether its own fuses
        code = module_of(object_code(DECLARED + fused_text(relaxed=relaxed), wasm(relaxed=relaxed)), ("fma",))
        script = FUSED.replace("CODE", base64.b64encode(code).decode())
        out = doubles(opened.value(script.replace("GIVEN", base64.b64encode(given.tobytes()).decode())))
        if relaxed and not np.array_equal(out[:count], exact):
            assert np.array_equal(out[:count], a * b + c)
            continue
        assert np.array_equal(out[:count], exact)
        with np.errstate(all="ignore"):
            assert np.array_equal(out[count:], odd[:, 0] * odd[:, 1] + odd[:, 2], equal_nan=True)


@needs_chromium
@pytest.mark.parametrize(
    ("model", "span", "channels", "what"),
    [
        ("bricard", 0.6, ("joint3.q", "rod3:tip.position"), "repartitions"),
        ("n_four_bar_5", 0.8, ("pivot_0.q", "energy.total"), "moved steps"),
        ("double_wishbone", 0.05, ("energy.total",), "forces"),
    ],
)
def test_members_of_a_page_have_the_bits_of_their_runs(
    opened: Browser, tmp_path: Path, model: str, span: float, channels: tuple[str, ...], what: str
) -> None:
    """Through repartitions, and through steps that are moved off singular poses, instants within them included."""
    store, page = tmp_path / "store.zarr", tmp_path / "page.html"
    vary = {"model_parameters.gravity[0]": np.array([0.0, 0.5, 1.0])}
    result = shiftjax.simulate(model, span=span, step=1e-3, output_step=1e-3, vary=vary, channels=channels)
    schedule = result.schedule
    assert schedule is not None
    of_two = schedule.substructure[schedule.member > 0]
    assert {"repartitions": (of_two >= 0).any(), "moved steps": (of_two < 0).any(), "forces": True}[what]
    shiftjax.store.write(result, store)
    assert main(["export", str(store), "--html", str(page), "--member", "0", "--simulate"]) == 0
    opened.open(page.as_uri())
    opened.until("document.body?.dataset.state")
    about = read(page.read_text(encoding="utf-8"))[0]["runs"]
    fuses = "null" if what == "moved steps" else "false"  # the one as the browser can, the others as any can
    *runs, tried = recorded(opened, [1, 2], [[0.95]], fuses)
    for values, member in zip(runs, (1, 2), strict=True):
        run = values.reshape(len(result.time), about["width"])
        for path, (first, size) in zip(channels, about["curves"], strict=True):
            values = np.asarray(result.channels[path])[member].reshape(len(result.time), -1)
            ours = run[:, first : first + size]
            within = _moved(schedule, member)  # between the ends of moved steps, by a curve that scripts compute
            assert np.array_equal(np.delete(ours, within, axis=0), np.delete(values, within, axis=0)), path
            assert np.allclose(ours[within], values[within], rtol=0.0, atol=ROUNDING), path
    # a design that no member has, watched by its own monitors, which come to the same decisions
    given = {"model_parameters.gravity[0]": np.array([0.95])}
    alone = shiftjax.simulate(model, span=span, step=1e-3, output_step=1e-3, vary=given, channels=channels)
    run, (first, _) = tried.reshape(len(result.time), about["width"]), about["curves"][0]
    assert np.allclose(run[:, first], np.asarray(alone.channels[channels[0]])[0], rtol=0.0, atol=ROUNDING)
    assert alone.schedule is not None and ((alone.schedule.substructure != 0).all() or what == "repartitions")
    assert opened.problems == []


@needs_chromium
@pytest.mark.parametrize(
    ("model", "vary", "channel"),
    [
        ("four_bar", {"crank_pivot_drive.speed": 0.3, "crank_pivot_drive.offset": 0.2}, "rocker_pivot.q"),
        ("klann", {"klann:crank:tip.T[0]": 0.05, "klann:coupler.mass": 0.2}, "lower_pivot.q"),
        ("slider_crank", {"slider_crank:rod:tip.T[0]": 0.1}, "guide.q"),
        ("four_bar", {"four_bar:crank_pivot.initial_displacement": 0.4, "four_bar:crank_pivot.initial_velocity": 0.3},
         "rocker_pivot.q"),
    ],
)  # fmt: skip
def test_designs_of_a_reader_begin_as_the_simulator_begins_them(
    opened: Browser, tmp_path: Path, model: str, vary: dict[str, float], channel: str
) -> None:
    """Lengths, masses, where joints begin and where drivers lead: from the nearest member along its assembly, to
    rounding."""
    numbers, spread = shiftjax.load(model).numbers() | DRIVEN, np.array([-1.0, -0.3, 0.4, 1.0])
    values = {path: numbers[path] * (1.0 + part * spread) for path, part in vary.items()}
    shown = {"span": 0.1, "step": 1e-3, "output_step": 0.01, "channels": [channel]}
    if DRIVEN.keys() & vary:
        shown["drive"] = {
            "crank_pivot": shiftjax.ConstantSpeed(**{path.split(".")[1]: DRIVEN[path] for path in DRIVEN})
        }
    shiftjax.store.write(shiftjax.simulate(model, vary=values, **shown), tmp_path / "store.zarr")  # type: ignore[arg-type]
    page = tmp_path / "page.html"
    assert main(["export", str(tmp_path / "store.zarr"), "--html", str(page), "--member", "0", "--simulate"]) == 0
    about = read(page.read_text(encoding="utf-8"))[0]["runs"]
    design = {one["path"]: one["low"] + 0.77 * (one["high"] - one["low"]) for one in about["designs"]["numbers"]}
    opened.open(page.as_uri())
    opened.until("document.body?.dataset.state")
    (tried,) = recorded(opened, [], [[*design.values()]])
    alone = shiftjax.simulate(model, vary={path: [value] for path, value in design.items()}, **shown)  # type: ignore[arg-type]
    run = tried.reshape(len(alone.time), about["width"])
    assert np.allclose(run[:, about["curves"][0][0]], alone.channels[channel][0], rtol=0.0, atol=ROUNDING)


@needs_chromium
def test_a_reader_has_members_simulated(opened: Browser, bars: Path, tmp_path: Path) -> None:
    """A member that is chosen moves, in its own shape and with its numbers; one that is not in the page says so."""
    page = tmp_path / "page.html"
    assert main(["export", str(bars), "--html", str(page), "--simulate", "5"]) == 0
    data, block = read(page.read_text(encoding="utf-8"))
    members = np.frombuffer(block[data["runs"]["members"][0] :][: data["runs"]["members"][1]], "<u4").tolist()
    assert len(members) == 5 and MEMBERS - 1 not in members
    assert any("5 of 11 members" in text for text in data["remarks"])
    assert len({*data["runs"]["casts"]}) == 5
    opened.open(f"{page.as_uri()}#member={members[3]}&t=0.1")
    opened.until(f"document.getElementById('name')?.textContent === 'Member {members[3]}'")
    opened.until("document.getElementById('clock').textContent === '0.1000 s'")
    assert opened.text("current") == f"Member {members[3]}, ok."
    (kept,) = again(bars, [members[3]])
    plot = [one["name"] for one in data["sheets"]["plots"]].index("rocker_pivot.q")
    told = opened.value(f"document.querySelectorAll('#sheets output')[{plot}].textContent")
    assert float(told) == pytest.approx(float(kept.trajectories["rocker_pivot.q"].values[0, 10]), rel=1e-4)
    other = next(k for k in range(1, MEMBERS - 1) if k not in members)
    opened.value(f"location.hash = 'member={other}'")
    opened.until("document.getElementById('current').textContent.includes('nor is it simulated here')")
    assert opened.text("name") == f"Member {members[3]}" and opened.problems == []


@needs_chromium
def test_a_reader_tries_designs(opened: Browser, bars: Path, tmp_path: Path) -> None:
    """A slider simulates its design, drawn in its own lengths; the next one takes its place; one that does not close
    says so, and the one before stays."""
    page = tmp_path / "page.html"
    assert main(["export", str(bars), "--html", str(page), "--simulate"]) == 0
    moved = "(() => { const one = document.querySelector('#numbers input'); one.value = VALUE; "
    moved += "one.dispatchEvent(new Event('input')); })()"
    opened.open(page.as_uri())
    opened.until("document.body?.dataset.state")
    assert float(opened.value("document.querySelector('#numbers input').value")) == pytest.approx(0.45, abs=1e-3)
    for value in (0.5123, 0.47):
        opened.value(moved.replace("VALUE", str(value)))
        opened.until("document.getElementById('name').textContent === 'Your design'")
        opened.until(f"document.querySelector('#sheets td + td').textContent === '{value} m'")
        assert opened.value("document.querySelectorAll('#members label').length") == 2
    assert opened.text("current") == ""
    assert opened.value("document.querySelector('#numbers span').textContent") == COUPLER.split(":", 1)[1]
    opened.value("document.getElementById('try').open = true")
    for size in ((390, 800), (1280, 800)):
        opened.resize(size)
        left, right, name, slider = opened.value(PLACES)
        assert 0 <= left and right <= size[0] and name <= slider, size
    opened.value(moved.replace("VALUE", "1.9"))
    opened.until("document.getElementById('tried').textContent.includes('cannot be closed')")
    assert opened.text("name") == "Your design" and opened.problems == []


def test_a_page_without_sliders_says_why(tmp_path: Path) -> None:
    def reason(model: str, **more: object) -> object:
        result = shiftjax.simulate(model, span=0.02, step=1e-3, **more)  # type: ignore[arg-type]
        shiftjax.store.write(result, path := tmp_path / f"{len(list(tmp_path.iterdir()))}.zarr")
        return lane_runs(path, [0, 1], numbers=ViewedStudy.open(path).free_numbers()).designs

    stated = {COUPLER: [0.48, 0.5]}
    assert not isinstance(reason("four_bar", vary=stated), str)
    derived = {"crank:tip.T[0]": "0.4 * {coupler:tip.T[0]}"}
    assert "follow from others" in str(reason("four_bar", vary=stated, derive=derived))
    assert "other rules at singular poses" in str(reason("four_bar", vary=stated, singular="stop"))
    led = {f"{joint}.initial_displacement": [1.0, 1.2] for joint in ("crank_pivot", "rocker_pivot")}
    assert "rocker_pivot.initial_displacement says where a joint begins that others lead" in str(
        reason("four_bar", vary=led)
    )


def test_every_body_has_ends_of_a_bar() -> None:
    """A link with one joint, too, which would not be seen else where its length varies."""
    paths, carried = page_runs.bar_ends(ViewedStudy.of(shiftjax.simulate("double_pendulum", span=0.01)))
    assert [[paths[k].rpartition(":")[2] for k in ends] for ends in carried[1:]] == [
        ["origin", "distal"],
        ["origin", "tip"],
    ]


def test_what_a_page_does_not_follow_is_refused(bars: Path, tmp_path: Path) -> None:
    def stored(name: str, **more: object) -> str:
        given = {"span": 0.02, "step": 1e-3, "vary": {COUPLER: [0.48, 0.5]}} | more
        shiftjax.store.write(shiftjax.simulate("four_bar", **given), tmp_path / name)  # type: ignore[arg-type]
        return str(tmp_path / name)

    for store, fault in (
        (stored("tolerance.zarr", step=None, tolerance=1e-6), "a tolerance chooses"),
        (stored("single.zarr", precision="f32"), "single precision"),
        (
            stored("events.zarr", events={"over": shiftjax.Event("rocker_pivot.q - 0.1", action="stop")}),
            r"events that stop a member .*over",
        ),
    ):
        with pytest.raises(ModelError, match=fault):
            lane_runs(store, [0, 1], ["rocker_pivot.q"])
    with pytest.raises(ModelError, match="a whole number from 1"):
        page_runs.chosen(np.arange(4), np.zeros(4, bool), 0)
    with pytest.raises(ValueError, match="no functions nothing"):
        module_of(object_code(DECLARED + fused_text(), wasm()), ("nothing",))


def test_a_page_is_asked_to_simulate_by_words(bars: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    for words, fault in (
        ([str(bars), "--csv", str(tmp_path / "a.csv"), "--simulate"], "--simulate: found without --html"),
        (["four_bar", "--html", page, "--simulate"], "of which the page has no table"),
        ([str(bars), "--html", page, "--rows", "0", "--simulate"], "of which the page has no table"),
    ):
        assert main(["export", *words]) == 2
        assert fault in capsys.readouterr().err, words
    assert main(["export", str(bars), "--html", page, "--simulate", "1"]) == 0  # no other shape says which bodies vary
    assert "no sliders for designs: the members that it simulates have the same numbers" in capsys.readouterr().err
    assert json.dumps(page_runs.chosen(np.arange(4), np.arange(4) == 0, 9)) == "[[1, 2, 3], []]"
