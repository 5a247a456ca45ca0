"""Tyres (S42): a rig that measures their forces beside the formulas, numbers of the source tool, its files."""

from __future__ import annotations

import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shiftjax
from shiftjax.errors import ModelError
from shiftjax.forces.tyres.property_files import MOST, tyre_numbers
from shiftjax.formats import load, to_dict
from shiftjax.formats.builder import ModelBuilder
from shiftjax.mechanism.model import Model

TYRE = {"radius": 0.344, "width": 0.235, "vertical_stiffness": 310e3, "vertical_damping": 3100.0, "c_slip": 2e5,
        "c_alpha": 45837.0, "u_min": 0.9, "u_max": 1.0, "low_speed": 1e-3}  # fmt: skip
SIZES = {key: TYRE[key] for key in ("radius", "vertical_stiffness", "vertical_damping", "low_speed")}
RELAXED = {"relaxation_x": 0.05, "relaxation_y": 0.3}
MASS, LOAD = 20.1, 3000.0  # kg of the wheel, N pressing it down
FZ = LOAD + 9.81 * MASS
DEPTH = FZ / TYRE["vertical_stiffness"]


def rig(
    yaw: float = 0.0, kind: str = "fiala_tyre", up: str = "+z", numbers: dict[str, float] = TYRE, **more: Any
) -> Model:
    """A wheel at an angle to the way on which it is drawn; the way can be lifted, and the wheel turns on its axle."""
    side = 1.0 if up == "+z" else -1.0
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81 * side))
    a = builder.assembly("a").body("carriage", mass=1.0, inertia=(1.0,) * 3)
    a.body("fork", mass=0.0, inertia=(0.0,) * 3, frames={"axle": {"rotation": (0.0, 0.0, yaw)}})
    a.body("wheel", mass=MASS, inertia=(0.578, 0.931, 0.578))
    a.joint("way", "Tx", child="carriage")
    height = side * (TYRE["radius"] - DEPTH)
    a.joint("lift", "Tz", parent="carriage", child="fork", initial_displacement=height, stiffness=[side * LOAD])
    a.joint("spin", "Ry", parent=("fork", "axle"), child="wheel")
    relaxed = RELAXED if "transient" in kind else {}
    a.force("tyre", kind, frames=["wheel", "fixed"], up=up, **numbers, **relaxed, **more)
    return builder.build()


def forces(model: Model, speed: float, rate: float, span: float = 0.05, **more: Any) -> tuple[float, float, float]:
    """Along the wheel's plane, across it, and about the normal, of a wheel drawn and turned at given speeds."""
    channels = ["spin.reaction_force", "spin.reaction_moment"]
    drive = {"way": speed, "spin": rate}
    result = shiftjax.simulate(model, span, 1e-4, drive=drive, channels=channels, output_step=span, **more)
    yaw = dict(model.numbers())["a:fork:axle.rotation[2]"]
    force, moment = (result.channels[name][-1] for name in channels)
    c, s = math.cos(yaw), math.sin(yaw)
    return -(c * force[0] + s * force[1]), -(c * force[1] - s * force[0]), -moment[2]


@pytest.mark.parametrize("up", ["+z", "-z"])
@pytest.mark.parametrize("kappa", [-0.3, -0.02, 0.004, 0.1])
def test_the_force_of_a_slip_along(kappa: float, up: str) -> None:
    """c_slip kappa up to U Fz / 2, then U Fz - (U Fz)^2 / (4 |kappa| c_slip); either side of the road up."""
    speed, radius = 10.0, TYRE["radius"] - DEPTH
    side = 1.0 if up == "+z" else -1.0
    along, across, _ = forces(rig(up=up), speed, side * speed * (1.0 + kappa) / radius)
    most = (1.0 - 0.1 * abs(kappa)) * FZ
    slides = TYRE["c_slip"] * abs(kappa) > 0.5 * most
    exact = most - most**2 / (4 * abs(kappa) * TYRE["c_slip"]) if slides else TYRE["c_slip"] * abs(kappa)
    assert along == pytest.approx(math.copysign(exact, kappa), rel=1e-6) and abs(across) < 1e-6


@pytest.mark.parametrize("kind", ["fiala_tyre", "transient_fiala_tyre"])
@pytest.mark.parametrize("angle", [-12.0, -1.0, 2.0, 6.0])
def test_the_force_of_a_slip_angle(angle: float, kind: str) -> None:
    """U Fz (1 - H^3) across the wheel, and U Fz width (1 - H) H^3 that turns it back, of a wheel that rolls."""
    yaw, speed, radius = math.radians(angle), 10.0, TYRE["radius"] - DEPTH
    model = rig(yaw, kind)
    along, across, aligning = forces(model, speed, speed * math.cos(yaw) / radius, 1.0 if "transient" in kind else 0.05)
    tangent = math.tan(yaw)
    most = (1.0 - 0.1 * abs(tangent)) * FZ
    H = max(1.0 - TYRE["c_alpha"] * abs(tangent) / (3 * most), 0.0)
    assert across == pytest.approx(math.copysign(most * (1.0 - H**3), yaw), rel=1e-5)  # a wheel turned left pulls left
    assert aligning == pytest.approx(math.copysign(most * TYRE["width"] * (1.0 - H) * H**3, -yaw), rel=1e-5, abs=1e-6)
    assert abs(along) < 1e-2


def test_it_sinks_in_as_in_the_logs_of_the_source_tool() -> None:
    """3000 N and a wheel of 20.1 kg: 3197.181 N and 0.0103134871 m; it rolls freely and loses nothing."""
    model = rig()
    result = shiftjax.simulate(model, 1.0, tolerance=1e-8, channels=["lift.q", "spin.v", "way.v"], output_step=0.5,
                               vary={"way.initial_velocity": [5.0, 10.0]})  # fmt: skip
    assert FZ == pytest.approx(3197.181, abs=1e-3)
    assert TYRE["radius"] - result.channels["lift.q"][:, -1] == pytest.approx(0.0103134871, abs=1e-9)
    rolling = result.channels["spin.v"][:, -1] * (TYRE["radius"] - DEPTH)
    assert rolling == pytest.approx(result.channels["way.v"][:, -1], rel=1e-6)
    assert (result.certificate["energy_error"] < 1e-5).all()


def test_slopes_of_a_rolling_wheel() -> None:
    """Of the speed at the end by the cornering stiffness, against differences."""
    model = rig(0.05)

    def last(values: Any) -> Any:
        options: dict[str, Any] = {"channels": ["way.v"], "drive": {"spin": 20.0}, "output_step": 0.1}
        return (
            shiftjax.simulate(model, 0.1, 1e-4, vary={"tyre.c_alpha": values}, **options).channels["way.v"][:, -1].sum()
        )

    value = TYRE["c_alpha"]
    slope, h = jax.grad(last)(jnp.asarray([value]))[0], 1e-3 * value
    ends = [float(last(np.array([value + k * h]))) for k in (-1, 1)]
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-4)


MAGIC = {  # of a passenger car, round numbers of our own
    "pcx1": 1.65, "pdx1": 1.2, "pdx2": -0.04, "pdx3": 2.0, "pex1": 0.2, "pex2": 0.1, "pex3": -0.05, "pex4": 0.1,
    "pkx1": 22.0, "pkx2": -0.2, "pkx3": 0.2, "phx1": 1e-3, "phx2": 5e-4, "pvx1": 2e-3, "pvx2": 1e-3, "rbx1": 12.0,
    "rbx2": -10.0, "rcx1": 1.1, "rex1": 0.2, "rex2": -0.1, "rhx1": 0.005, "pcy1": 1.3, "pdy1": 1.05, "pdy2": -0.1,
    "pdy3": 2.0, "pey1": -0.8, "pey2": -0.6, "pey3": 0.1, "pey4": -2.0, "pky1": -17.0, "pky2": 1.9, "pky3": 0.3,
    "phy1": 2e-3, "phy2": 1e-3, "phy3": 0.03, "pvy1": 0.02, "pvy2": -0.01, "pvy3": -0.3, "pvy4": -0.1, "rby1": 11.0,
    "rby2": 8.0, "rby3": -0.01, "rcy1": 1.05, "rey1": 0.3, "rey2": 0.1, "rhy1": 0.01, "rhy2": 0.005, "rvy1": 0.05,
    "rvy2": -0.02, "rvy3": -0.3, "rvy4": 12.0, "rvy5": 1.9, "rvy6": -10.0, "qbz1": 9.0, "qbz2": -1.1, "qbz3": -0.6,
    "qbz4": 0.1, "qbz5": -0.2, "qbz9": 18.0, "qbz10": 0.1, "qcz1": 1.2, "qdz1": 0.09, "qdz2": -0.005, "qdz3": -0.5,
    "qdz4": 5.0, "qdz6": -5e-3, "qdz7": 2e-3, "qdz8": -0.2, "qdz9": 0.03, "qez1": -1.6, "qez2": -0.4, "qez3": 0.1,
    "qez4": 0.2, "qez5": -0.9, "qhz1": 6e-3, "qhz2": -3e-3, "qhz3": 0.1, "qhz4": 0.1, "ssz1": 0.02, "ssz2": -0.01,
    "ssz3": 0.5, "ssz4": -0.3, "qsy1": 0.01, "qsy3": 1e-3, "fnomin": 4000.0, "lmuy": 0.95, "lky": 1.1,
}  # fmt: skip


def magic(kappa: float, alpha: float) -> tuple[float, float, float]:
    """Fx, Fy, Mz of an upright wheel at the load of the rig: equations 4.E1 to 4.E78 of the book, in NumPy."""
    m, d, Fz, atan = MAGIC, FZ / 4000.0 - 1.0, FZ, math.atan
    grown = lambda *names: sum(m[name] * d**k for k, name in enumerate(names))  # noqa: E731

    def formula(B: float, C: float, E: float, x: float) -> float:
        return C * atan(B * x - min(E, 1.0) * (B * x - atan(B * x)))

    kx, ay = kappa + grown("phx1", "phx2"), alpha + grown("phy1", "phy2")
    Dx, Kx = grown("pdx1", "pdx2") * Fz, Fz * grown("pkx1", "pkx2") * math.exp(m["pkx3"] * d)
    Ex = grown("pex1", "pex2", "pex3") * (1 - m["pex4"] * np.sign(kx))
    Fx = Dx * math.sin(formula(Kx / (m["pcx1"] * Dx), m["pcx1"], Ex, kx)) + Fz * grown("pvx1", "pvx2")
    mu = grown("pdy1", "pdy2") * m["lmuy"]
    Ky = m["pky1"] * 4000.0 * math.sin(2 * atan(Fz / (m["pky2"] * 4000.0))) * m["lky"]
    By, SVy = Ky / (m["pcy1"] * mu * Fz), Fz * grown("pvy1", "pvy2") * m["lmuy"]
    Ey = grown("pey1", "pey2") * (1 - m["pey3"] * np.sign(ay))
    Fy0 = mu * Fz * math.sin(formula(By, m["pcy1"], Ey, ay)) + SVy
    Bx, Ex, shift = m["rbx1"] * math.cos(atan(m["rbx2"] * kappa)), grown("rex1", "rex2"), m["rhx1"]
    Fx *= math.cos(formula(Bx, m["rcx1"], Ex, alpha + shift)) / math.cos(formula(Bx, m["rcx1"], Ex, shift))
    B, E, shift = (
        m["rby1"] * math.cos(atan(m["rby2"] * (alpha - m["rby3"]))),
        grown("rey1", "rey2"),
        grown("rhy1", "rhy2"),
    )
    Gy = math.cos(formula(B, m["rcy1"], E, kappa + shift)) / math.cos(formula(B, m["rcy1"], E, shift))
    SVyk = (
        mu
        * Fz
        * grown("rvy1", "rvy2")
        * math.cos(atan(m["rvy4"] * alpha))
        * math.sin(m["rvy5"] * atan(m["rvy6"] * kappa))
    )
    Fy = Fy0 * Gy + SVyk
    at, ar = alpha + grown("qhz1", "qhz2"), ay + SVy / Ky
    at, ar = (np.sign(x) * atan(math.sqrt(math.tan(x) ** 2 + (Kx * kappa / Ky) ** 2)) for x in (at, ar))
    Bt, R = grown("qbz1", "qbz2", "qbz3") * m["lky"] / m["lmuy"], TYRE["radius"]
    Et = grown("qez1", "qez2", "qez3") * (1 + m["qez4"] * 2 / math.pi * atan(Bt * m["qcz1"] * at))
    trail = Fz * grown("qdz1", "qdz2") * R / 4000.0 * math.cos(formula(Bt, m["qcz1"], Et, at)) * math.cos(alpha)
    Br = m["qbz9"] * m["lky"] / m["lmuy"] + m["qbz10"] * By * m["pcy1"]
    rest = Fz * grown("qdz6", "qdz7") * R * m["lmuy"] * math.cos(atan(Br * ar)) * math.cos(alpha)
    return Fx, Fy, -trail * (Fy - SVyk) + rest + (m["ssz1"] + m["ssz2"] * Fy / 4000.0) * R * Fx


@pytest.mark.parametrize(("kappa", "angle"), [(0.0, 4.0), (0.08, 0.0), (-0.3, 0.0), (0.05, -6.0), (-0.1, 2.0)])
def test_the_magic_formula(kappa: float, angle: float) -> None:
    """Beside the equations of the book, of slips along, across and both, braking and driving, left and right."""
    yaw, speed, radius = math.radians(angle), 10.0, TYRE["radius"] - DEPTH
    model = rig(yaw, "pacejka_tyre", numbers=SIZES | MAGIC)
    along, across, aligning = forces(model, speed, speed * math.cos(yaw) * (1.0 + kappa) / radius)
    exact = magic(kappa, -yaw)  # a wheel turned to the left slips to the right
    assert (along, across, aligning) == pytest.approx(exact, rel=2e-6, abs=1e-3)


@pytest.mark.parametrize("kind", ["transient_fiala_tyre", "pacejka_tyre"])
@pytest.mark.parametrize("lifted", [0.0, 0.1])
def test_a_stand_and_a_wheel_in_the_air_have_slopes(kind: str, lifted: float) -> None:
    """No slip, no load: neither is 0 / 0, in f64 and f32; what lifts off falls freely, whatever its tyre."""
    model = rig(kind=kind, numbers=TYRE if "fiala" in kind else SIZES | MAGIC)
    start = model.replace({"lift.initial_displacement": TYRE["radius"] - DEPTH + lifted})

    def height(values: Any, **more: Any) -> Any:
        vary, drive = {"tyre.vertical_stiffness": values}, {"way": 0.0, "spin": 0.0}
        options: dict[str, Any] = {"channels": ["lift.q"], "output_step": 0.01, **more}
        result = shiftjax.simulate(start, 0.01, 5e-4, vary=vary, drive=drive, **options)
        assert (result.status == 0).all()
        return result.channels["lift.q"][:, -1].sum()

    stiffness = jnp.asarray([TYRE["vertical_stiffness"]])
    end, slope = jax.value_and_grad(height)(stiffness)
    way = 0.5 * 0.01**2 * FZ / MASS if lifted else 0.0
    assert float(end) == pytest.approx(TYRE["radius"] - DEPTH + lifted - way, abs=1e-12)
    assert np.isfinite(slope).all() and (float(slope[0]) == 0.0) == bool(lifted)
    assert height(np.asarray(stiffness), precision="f32") == pytest.approx(float(end), abs=1e-6)


@pytest.mark.parametrize("kind", ["fiala_tyre", "transient_pacejka_tyre"])
def test_a_road_in_place_of_the_wheel_is_refused(kind: str) -> None:
    """Frames in the other order ran, as a wheel of ground that nothing turns."""
    document = to_dict(rig(kind=kind, numbers=TYRE if "fiala" in kind else SIZES | MAGIC))
    document["assemblies"][0]["force_modules"][0]["frames"].reverse()
    message = r"frames\[0\]: found a frame of ground first; allowed: the wheel, then the road"
    with pytest.raises(ModelError, match=message):
        load(document)


def test_property_files_of_tyres(tmp_path: Any) -> None:
    """Units, comments and keys that the formula does not know; what cannot be read is refused by name."""
    file = tmp_path / "car.tir"
    file.write_text(car_tir())
    numbers = tyre_numbers(file)
    assert numbers == pytest.approx({**MAGIC, "radius": 0.344, "vertical_stiffness": 310e3, "vertical_damping": 3100.0})
    assert shiftjax.simulate(rig(0.02, "pacejka_tyre", numbers=numbers), 0.01, 1e-4, drive={"way": 5.0}).status == 0
    for old, new, message in (
        ("PAC2002", "FIALA", "found 'FIALA'; allowed: 'PAC2002'"),
        ("'mm'", "'ell'", "LENGTH: found 'ell'; allowed: one of meter"),
        ("PCX1 = 1.65", "PCX1 = much", "PCX1: found 'much'; allowed: a number"),
        ("FNOMIN", "FNOMAX", "found no fnomin"),
    ):
        file.write_text(car_tir().replace(old, new))
        with pytest.raises(ModelError, match=message):
            tyre_numbers(file)
    with pytest.raises(ModelError, match="nothing that can be read"):
        tyre_numbers(tmp_path / "none.tir")


def test_tyres_of_public_files_are_read() -> None:
    """Without numbers of their own those of a passenger car are assumed, and said."""
    document = to_dict(rig(up="-z"))
    tire = {"type": "tire", "name": "tyre", "tire_type": "fiala", "wheel_body": "wheel"}
    for transient, kind in ((False, "fiala_tyre"), (True, "transient_fiala_tyre")):
        document["assemblies"][0]["force_modules"] = [{**tire, "use_transient_slip": transient}]
        model = load(document)
        (module,) = model.assemblies[0].force_modules
        assert module.type == kind and not model.unsupported() and load(to_dict(model)) == model
        assert any("Fiala tyre without numbers: assumed radius 0.344" in warning for warning in model.warnings)
    for wrong, message in (
        ({"tire_type": "pac89"}, "tire_type: found 'pac89'; allowed: one of fiala, pac2002"),
        ({"definition": "a.tir"}, "definition: found 'a.tir'; allowed: property files of pac2002 only"),
        ({"tire_type": "pac2002"}, "definition: found nothing; allowed: the name of a property file"),
        ({"wheel_body": "hub"}, "wheel_body: found no body 'hub'"),
        ({"wheel_body": "fixed"}, "ground, which no force moves"),
    ):
        document["assemblies"][0]["force_modules"] = [{**tire, **wrong}]
        with pytest.raises(ModelError, match=message):
            load(document)


def car_tir(**more: float | str) -> str:
    """A property file of PAC2002 with the numbers of this module."""
    sizes = {"UNLOADED_RADIUS": 344.0, "VERTICAL_STIFFNESS": 310.0, "VERTICAL_DAMPING": 3.1, "FNOMIN": 4000.0}
    rest = {key.upper(): value for key, value in MAGIC.items() if key != "fnomin"}
    lines = ["[UNITS]", "LENGTH = 'mm'", "FORCE = 'newton'", "[MODEL]", "PROPERTY_FILE_FORMAT = 'PAC2002' $ kind"]
    lines += [f"{key} = {value} $ a comment" for key, value in {**sizes, **rest, **more}.items()]
    return "\n".join([*lines, "! the end", "MBELT = 5"])


def with_tire(transient: bool = False, **more: Any) -> dict[str, Any]:
    """The rig with a tire of a property file `car.tir`."""
    document = to_dict(rig(0.02, up="-z"))
    document["assemblies"][0]["force_modules"] = [
        {"type": "tire", "name": "tyre", "tire_type": "pac2002", "wheel_body": "wheel", "definition": "car.tir"}
        | {"use_transient_slip": transient, **more}
    ]
    return document


def test_property_files_that_models_name(tmp_path: Any) -> None:
    """They become the numbers of a registered kind, which is what is saved; beside the model or an included one, or in
    an include directory, and nowhere else."""
    model_file, tir = tmp_path / "car" / "rig.json", tmp_path / "car" / "car.tir"
    model_file.parent.mkdir()
    model_file.write_text(json.dumps(with_tire()))
    with pytest.raises(ModelError, match=r"definition: found 'car.tir'; allowed: a file in .*car"):
        load(model_file)
    tir.write_text(car_tir())
    numbers = tyre_numbers(tir)
    (module,) = load(model_file).assemblies[0].force_modules
    assert module.type == "pacejka_tyre" and module.values["up"] == "-z"
    assert {key: module.values[key] for key in numbers} == numbers
    written = to_dict(load(model_file))
    assert load(written) == load(with_tire(), folder=tir.parent)  # the numbers are all that is left
    assert written["assemblies"][0]["force_modules"][0]["radius"] == pytest.approx(0.344)
    outer = {"model_parameters": {"version": "2.0", "gravity": [0, 0, 9.81]}, "assemblies": [{"name": "rig"}]}
    outer["assemblies"][0]["include"] = "car/rig.json"  # beside the file that names it, not beside the outer one
    assert load(outer, folder=tmp_path).assemblies[0].assemblies[0].force_modules[0].type == "pacejka_tyre"
    elsewhere = with_tire()
    elsewhere["model_parameters"]["include_directories"] = ["car"]
    assert load(elsewhere, folder=tmp_path).assemblies[0].force_modules[0].values["radius"] == pytest.approx(0.344)
    (tmp_path / "other.tir").write_text(car_tir())
    for name, message in (("../other.tir", "leads out of it"), (str(tir), "a path relative to this file")):
        with pytest.raises(ModelError, match=message):
            load(with_tire(definition=name), folder=tir.parent)
    tir.write_text("p_Cx1 = 1.6 % shape")
    with pytest.raises(ModelError, match=r"car.tir: found no PROPERTY_FILE_FORMAT; allowed: the format PAC2002"):
        load(model_file)
    tir.write_text(car_tir(UNLOADED_RADIUS=-344.0))
    with pytest.raises(ModelError, match=r"car.tir: radius: found radius -0.344"):
        load(model_file)
    with tir.open("wb") as huge:
        huge.truncate(MOST + 1)
    with pytest.raises(ModelError, match="allowed: at most 1000000"):
        load(model_file)


def test_relaxation_lengths_of_property_files(tmp_path: Any) -> None:
    """At the nominal load sigma_kappa = ptx1 R0, sigma_alpha = pty1 sin(2 atan(1 / pty2)) R0; else they are assumed."""
    tir = tmp_path / "car.tir"
    tir.write_text(car_tir(PTX1=2.5, PTX3=0.7, PTY1=2.0, PTY2=1.0, LFZO=0.5, LSGKP=0.8))
    model = load(with_tire(transient=True), folder=tmp_path)
    (module,) = model.assemblies[0].force_modules
    assert module.type == "transient_pacejka_tyre" and not model.warnings
    lengths = module.values["relaxation_x"], module.values["relaxation_y"]
    assert lengths == pytest.approx((2.5 * 0.344 * 0.5 * 0.8, 2.0 * 0.344 * 0.5))
    tir.write_text(car_tir(PTX1=2.5))
    assert any("no relaxation lengths (PTX1, PTY1)" in text for text in load(with_tire(True), tmp_path).warnings)
