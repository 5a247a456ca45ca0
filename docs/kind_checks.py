"""By what each kind of the catalogue is checked: in a few words, and the tests, as `FILE::TEST` under `tests/`.

A kind is checked on a tree, in a closed loop, and by its slopes: derivatives by reverse mode against differences.
`tests/house/test_kind_checks.py` holds that every kind has an entry, and that each of its tests names it.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftjax.record import record


@record
class Check:
    """What a kind is checked by.

    Attributes:
        by: against what, and how near.
        tree: tests where it stands in or between trees, or is the only loop. loop: those in loops of other joints.
        slopes: those of derivatives.
    """

    by: str
    tree: tuple[str, ...]
    loop: tuple[str, ...]
    slopes: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.tree, *self.loop, *self.slopes)))


# -- joints --------------------------------------------------------------------------------------------------------

BALANCED = "mechanics/test_joint_kinds.py::test_every_body_is_balanced_by_reactions_that_do_no_work"
IN_BALANCE = "mechanics/test_reactions.py::test_every_body_is_in_balance"
RANDOM = "mechanics/test_identities.py::test_accelerations_of_random_mechanisms_are_the_oracles"
EVERY_NUMBER = "gradients/test_gradients.py::test_every_numeric_key"
CATALOGUE = "gradients/test_gradient_catalogue.py::test_every_number_has_the_slope_of_differences"
OTHERS = "gradients/test_gradient_joint_kinds.py::test_its_slopes_are_those_of_differences"
COORDINATES = "mechanics/test_coordinates.py::"
PARTS = f"{COORDINATES}test_it_is_elementary_joints_with_massless_bodies"
PART_SLOPES = f"{COORDINATES}test_gradients_are_those_of_differences"
VECTORS = "mechanics/test_rotation_vectors.py::"
POINTS, SCREWS = "mechanics/test_point_joints.py::", "extending/test_extensions.py::"
NEWTON = "every body is balanced by reactions that do no work, to 1e-8"


def _joint(by: str, loop: tuple[str, ...], slopes: str, *tree: str) -> Check:
    return Check(f"{NEWTON}; {by}", (BALANCED, *tree), (BALANCED, *loop), (slopes,))


DENSE = "a dense oracle's accelerations in random loops, to 1e-9; every slope of runs to 1e-8"
MASSLESS = "elementary joints with massless bodies, to 1e-9; slopes of runs to 1e-6"
EULER = [f"euler_{name}" for name in "xyx xyz xzx xzy yxy yxz yzx yzy zxy zyz".split()]
JOINTS = {
    **{name: _joint(DENSE, (RANDOM, IN_BALANCE), EVERY_NUMBER)
       for name in ("Rx", "Ry", "Rz", "revolute", "Tx", "rigid", "float", "spherical")},
    "prismatic": _joint(
        "a dense oracle's accelerations in random loops; slopes of runs to 1e-6", (RANDOM, IN_BALANCE), OTHERS),
    **{name: _joint("slopes of runs to 1e-6", (), OTHERS) for name in ("Ty", "Tz")},
    **{name: _joint(MASSLESS, (PARTS,), PART_SLOPES) for name in (
        "cylindrical", "planar", "translational_2d", "translational_3d", "pin_slider", "euler_zyx", "euler_zxz")},
    "universal": _joint(
        f"the speed of a Cardan shaft in closed form, to 1e-12; {MASSLESS}",
        (f"{COORDINATES}test_a_driven_coordinate_in_a_batch_of_speeds", PARTS), PART_SLOPES),
    "screw": _joint(
        "a slide and a hinge that a gear couples, to 1e-9; slopes of runs by its pitch",
        (f"{SCREWS}test_a_screw_is_a_slider_and_a_hinge_that_a_gear_couples",
         f"{SCREWS}test_the_screw_of_the_package_is_that_from_outside"), CATALOGUE),
    "float_vector": _joint(
        "a body on a quaternion, past half a turn, to 1e-7; slopes to 1e-7",
        (), f"{VECTORS}test_slopes_across_pi", f"{VECTORS}test_a_top_and_a_flying_body"),
    "spherical_vector": _joint(
        "a loop of two balls on quaternions, past half a turn, to 1e-7; slopes to 1e-7",
        (f"{VECTORS}test_a_loop_of_two_balls",), f"{VECTORS}test_a_loop_of_two_balls"),
    **{name: _joint(
        "slides and a ball, to 1e-9; slopes of runs to 1e-6",
        (f"{POINTS}test_it_is_slides_and_a_ball",), f"{POINTS}test_in_a_batch_with_slopes")
       for name in ("point_slider", "point_plane")},
    **{name: _joint("slopes of runs to 1e-6", (), OTHERS) for name in EULER},
}  # fmt: skip

# -- constraints ---------------------------------------------------------------------------------------------------

COUPLINGS, LOOPS = "mechanics/constraints/test_couplings.py::", "mechanics/constraints/test_constraints_in_loops.py::"
PAIR, FOUR_BAR = f"{COUPLINGS}test_a_pair_moves_as_one_inertia", f"{LOOPS}test_a_four_bar_feels_what_its_crank_turns"
BETWEEN, GUIDES = "mechanics/constraints/test_between_frames.py::", "mechanics/constraints/test_guides.py::"
AS_JOINT, ITS_SLOPES = f"{BETWEEN}test_it_moves_as_the_joint_does", f"{BETWEEN}test_its_slopes_are_those_of_differences"
TABLE = f"{LOOPS}test_a_table_that_a_crank_leads_without_turning_is_a_weight_at_its_tip"
WEIGHT = "a table that a crank leads without turning it, beside a pendulum's integral, what it bears to 1e-8"
INERTIA = "two shafts, and a four-bar's crank, move as with one inertia; the row bears what turns it, to 1e-9"
WITHOUT_NUMBERS = f"{LOOPS}test_slopes_of_what_has_no_numbers"


def _coupling(tree: str, slopes: str = CATALOGUE, by: str = INERTIA) -> Check:
    return Check(f"{by}; slopes of runs", (tree,), (FOUR_BAR,), (slopes,))


def _framed(by: str, tree: str, loop: tuple[str, ...]) -> Check:
    return Check(f"{by}; slopes of runs", (tree,), loop, (ITS_SLOPES,))


CONSTRAINTS = {
    "equation": _coupling(
        f"{BETWEEN}test_a_cycloidal_cam", WITHOUT_NUMBERS,
        "a cycloidal cam (Norton); a four-bar's crank moves as with its inertia, what the row bears to 1e-9"),
    **{name: _coupling(PAIR) for name in ("gear", "belt", "rack", "screw_coupling", "mimic")},
    "planetary": _coupling(
        f"{COUPLINGS}test_an_epicyclic_train",
        by="Willis' equation to 1e-12; a four-bar's crank moves as with its inertia, what the row bears to 1e-9"),
    "differential": _coupling(
        f"{COUPLINGS}test_a_differential_turns_its_shafts_by_the_same_torque", WITHOUT_NUMBERS,
        "half of the torque for each shaft; a four-bar's crank moves as with its inertia, what the row bears to 1e-9"),
    "geneva": Check(
        "its angle, dwells and peak speed in closed form (Norton) to 1e-9, on a four-bar, too, with what it takes from "
        "the drive; slopes of runs",
        (f"{COUPLINGS}test_a_geneva_drive_indexes_and_dwells",), (f"{LOOPS}test_a_geneva_wheel_on_a_driven_four_bar",),
        (CATALOGUE,)),
    "coincident": _framed(
        "a rod let go level, with its closed reaction to 1e-8; a four-bar closed by it or by a joint",
        f"{LOOPS}test_a_rod_on_a_coincident_point_is_let_go_level",
        (AS_JOINT, f"{BETWEEN}test_the_force_of_a_ball_is_its_reaction")),
    "distance": _framed(
        "a conical pendulum with its pull in closed form, to 1e-8; a four-bar whose coupler weighs nothing",
        f"{LOOPS}test_a_distance_makes_a_conical_pendulum", (AS_JOINT,)),
    "point_on_line": _framed(
        "a Scotch yoke in closed form to 1e-11; a quick return with a slide in place of it, and its reactions",
        "mechanics/forces/test_slots.py::test_a_scotch_yoke_runs_as_with_a_constraint",
        (AS_JOINT, f"{BETWEEN}test_joints_beside_it_have_the_reactions_that_they_have_beside_the_joint")),
    "point_on_plane": _framed(f"a planar joint, to 1e-8; {WEIGHT}", AS_JOINT, (TABLE,)),
    "parallel_axes": _framed(f"slides and a hinge, to 1e-8; {WEIGHT}", AS_JOINT, (TABLE,)),
    "same_orientation": _framed(f"a joint of three slides, to 1e-8; {WEIGHT}", AS_JOINT, (TABLE,)),
    "perpendicular_axes": _framed(
        "a universal joint between shafts, its motion and reactions, to 1e-8", AS_JOINT,
        (f"{BETWEEN}test_joints_beside_it_have_the_reactions_that_they_have_beside_the_joint",)),
    "cam": Check(
        "a round cam beside its axis in closed form, roller and flat, to 1e-8; on a four-bar, with its force; slopes",
        (f"{BETWEEN}test_an_eccentric_cam",), (f"{LOOPS}test_a_cam_on_a_four_bar",), (CATALOGUE,)),
    "point_on_curve": Check(
        "a bead on a helix, and what the wire bears, as near as a spline is; a closed wire in place of a rod; slopes",
        (f"{GUIDES}test_a_bead_on_a_helix",), (f"{GUIDES}test_a_closed_wire_in_a_closed_loop",), (CATALOGUE,)),
    "point_on_surface": Check(
        f"a bead that circles in a bowl, to 1e-9; {WEIGHT}; slopes",
        (f"{GUIDES}test_a_bead_circles_in_a_bowl",), (TABLE,), (CATALOGUE,)),
}  # fmt: skip

# -- drivers -------------------------------------------------------------------------------------------------------

ON_TREE = f"{LOOPS}test_what_is_driven_on_a_tree_takes_mass_times_acceleration"
CRANK = "starts/test_drives.py::test_the_crank_follows_and_the_others_are_where_geometry_puts_them"
POWER = "starts/test_drives.py::test_the_load_of_the_drive_times_the_speed_is_the_rate_of_energy"
POSE_OF_LAW = "mechanics/constraints/test_pose_laws.py::test_what_is_driven_is_where_the_law_says_and_takes_its_work"
LAW = ("a four-bar's crank to 1e-11, its rocker in closed form, the drive's work; on a mass m (a + g) to 1e-9; slopes "
       "of runs")  # fmt: skip
DRIVERS = {
    **{name: Check(LAW, (ON_TREE,), (CRANK, POWER), (EVERY_NUMBER,))
       for name in ("constant_speed", "harmonic", "polynomial", "table")},
    "acceleration_table": Check(LAW, (ON_TREE,), (CRANK, POWER), (CATALOGUE,)),
    **{f"frame_{name}": Check(
        "x of a four-bar's pin to 1e-11, its work; on a mass m (a + g) to 1e-9; slopes of runs",
        (ON_TREE,), (f"{BETWEEN}test_a_driven_frame",), (CATALOGUE,))
       for name in ("harmonic", "polynomial", "table")},
    **{f"frame_angle_{name}": Check(
        "a gimbal's joints and the pitch of a four-bar's coupler to 1e-11; a disc takes I yaw'' to 1e-9; slopes",
        (f"{GUIDES}test_driven_angles_of_a_gimbal", f"{LOOPS}test_a_driven_angle_takes_inertia_times_acceleration"),
        (f"{GUIDES}test_a_driven_angle_in_a_closed_loop",), (CATALOGUE,))
       for name in ("harmonic", "polynomial", "table")},
    **{f"{what}_{law}": Check(
        "the pose of its law by SciPy's rotations, to 1e-8, and the work of its loads, with a pendulum or a four-bar "
        "on what it moves; slopes of runs",
        (POSE_OF_LAW,), (POSE_OF_LAW,), (CATALOGUE,))
       for what in ("pose", "orientation") for law in ("uniform", "harmonic", "table")},
}  # fmt: skip

# -- forces --------------------------------------------------------------------------------------------------------

FORCE, LOADS, TYRES = (
    "mechanics/forces/test_force_kinds.py::",
    "mechanics/forces/test_loads.py::",
    "mechanics/forces/test_tyres.py::",
)
DRIVE = "mechanics/forces/test_forces_in_loops.py::test_its_power_is_taken_from_the_drive"
WITH_SLOPES = f"{FORCE}test_in_a_closed_loop_with_slopes"
WHEEL = "mechanics/forces/test_tyres_in_loops.py::test_a_wheel_on_a_parallelogram_has_the_forces_of_the_formulas"
BUILD_UP = "mechanics/forces/test_tyres_in_loops.py::test_slips_build_up_over_the_relaxation_length"
INTEGRATED = f"{LOADS}test_a_load_on_a_pendulum_is_that_of_an_independent_integration"
BEARINGS = "mechanics/forces/test_bearings.py::"
BALLS = "mechanics/forces/test_ball_friction.py::"
RUBBED = f"{BEARINGS}test_friction_in_a_loop_is_its_coefficient_times_what_the_joint_bears"
OF_CUTS = (f"{BEARINGS}test_accelerations_are_those_of_absolute_coordinates",)
OF_LOADS = "a slider-crank cut at each of its joints beside an oracle of absolute coordinates, to 1e-10; slopes of runs"
BEARS = "in a slider-crank its coefficient times what its joint bears, to 1e-9; slopes of runs"
IN_LOOP = "its power in a driven four-bar by formulas in NumPy, to 1e-8; slopes of runs"
BOUNCE = "its restitution (Hunt and Crossley 1975) in closed form, to 1e-5"
SETTLES = f"{FORCE}test_a_controller_settles_as_its_poles_say"
HOLDS = f"{FORCE}test_a_controller_of_positions_settles_as_its_poles_say"
OF_ORACLE = "mechanics/forces/test_forces.py::test_forces_between_frames_are_those_of_the_oracle"
ALONG_JOINTS = "mechanics/forces/test_forces.py::test_joint_restraints_descend"
ON_WHEELS = "of a wheel drawn and turned, in a loop, too, to 1e-5; slopes of runs"


def _force(by: str, *tree: str, slopes: tuple[str, ...] = (WITH_SLOPES, CATALOGUE)) -> Check:
    return Check(f"{by}; {IN_LOOP}", tree, (DRIVE,), slopes)


FORCES = {
    **{name: _force("a pendulum beside SciPy's integral, to 1e-9", INTEGRATED, slopes=(EVERY_NUMBER,))
       for name in ("constant_load", "harmonic_load", "polynomial_load")},
    "table_load": _force(
        "a pendulum beside SciPy's integral, by splines and lines, to 1e-7", INTEGRATED, slopes=(EVERY_NUMBER,)),
    "constant_wrench": _force(
        "gravity, a torque, a thrust on a spinning body in closed form, to 1e-9",
        f"{LOADS}test_a_thrust_on_a_free_body", f"{LOADS}test_axes_of_a_wrench", slopes=(EVERY_NUMBER,)),
    "harmonic_wrench": _force(
        "a shaken mass in closed form, to 1e-9", f"{LOADS}test_a_harmonic_force_shakes_a_mass", slopes=(EVERY_NUMBER,)),
    "table_wrench": _force(
        "a force and a moment that cancel, a load on the joint, to 1e-11", f"{LOADS}test_a_table_of_wrenches",
        slopes=(EVERY_NUMBER,)),
    "joint_spring": _force("a damped swing in closed form, to 1e-8", f"{FORCE}test_a_sprung_and_damped_joint"),
    "bushing": _force("K^-1 F at rest; its energy at any turn, to 1e-8",
                      f"{FORCE}test_a_bushing_yields_as_its_matrix_says"),
    "stop": _force("as fast back as it came; how deep a load presses it, to 1e-6", f"{FORCE}test_a_stop"),
    "coulomb_friction": _force("a rotor that slows down evenly and stands, to 1e-5",
                               f"{FORCE}test_dry_friction_stops_a_rotor"),
    "lugre_friction": _force(
        "a block on an incline; the period of stick and slip (Den Hartog), to 1 %",
        f"{FORCE}test_a_block_on_an_incline", f"{FORCE}test_stick_and_slip_on_a_belt"),
    "bearing_friction": Check(
        f"pendulums in a bearing and on a cross beside SciPy's integrals, to 1e-8; a rotor in closed form; {OF_LOADS}",
        (f"{BEARINGS}test_a_pendulum_in_a_journal_bearing", f"{BALLS}test_a_pendulum_on_a_cross",
         f"{BEARINGS}test_a_rotor_that_runs_down"),
        OF_CUTS, (CATALOGUE,)),
    "slide_friction": Check(
        f"a slide that bears moments on its rails in closed form, to 1e-12; {OF_LOADS}",
        (f"{BEARINGS}test_a_slide_bears_moments_on_its_rails",), OF_CUTS, (CATALOGUE,)),
    "sleeve_friction": Check(
        f"a sleeve that slips along its way in closed form, to 1e-12; {BEARS}",
        (f"{BEARINGS}test_a_sleeve_slips_along_its_way",), (RUBBED,), (CATALOGUE,)),
    "plate_friction": Check(
        f"a puck that slips along its way, also borne over a width, in closed form, to 1e-8; {BEARS}",
        (f"{BALLS}test_a_puck_slips_along_its_way",), (RUBBED,), (CATALOGUE,)),
    "ball_friction": Check(
        "a pendulum on a ball beside SciPy's integral, to 1e-8; in a spatial loop, cut at the ball and not, its "
        "coefficient times what the joint bears, to 1e-9; slopes of runs",
        (f"{BALLS}test_a_pendulum_on_a_ball",),
        (f"{BALLS}test_in_a_loop_friction_is_its_coefficient_times_what_a_ball_bears",
         f"{BALLS}test_friction_of_balls_and_crosses_is_that_of_any_cut"), (CATALOGUE,)),
    "slide_bristles": Check(
        f"a block that sticks at 1.2 and slides at 0.9 times tan(slope); {BEARS}",
        (f"{BEARINGS}test_a_block_on_an_incline_sticks_or_slides",), (RUBBED,), (CATALOGUE,)),
    "bearing_bristles": Check(
        f"a pendulum held by its bearing up to the angle of friction; {BEARS}",
        (f"{BEARINGS}test_a_bearing_with_bristles_holds_a_pendulum_up_to_its_friction",), (RUBBED,), (CATALOGUE,)),
    "servo": _force("a critically damped error in closed form, to 1e-8", f"{FORCE}test_a_servo_with_a_moving_target"),
    **{name: _force("a rotor that runs up in closed form, to 1e-8", f"{FORCE}test_motors_run_up")
       for name in ("dc_motor", "torque_curve")},
    **{name: _force("a step response of two poles in closed form, to 1e-8", SETTLES)
       for name in ("joint_speed_pid", "frame_speed_pid")},
    **{name: _force("a step response of three poles in closed form, to 1e-8", HOLDS)
       for name in ("joint_position_pid", "frame_position_pid")},
    "fiala_tyre": Check(
        f"Fiala's formulas and logs of the source tool, {ON_WHEELS}; a steady turn (Riekert and Schunck)",
        (f"{TYRES}test_the_force_of_a_slip_along", f"{TYRES}test_the_force_of_a_slip_angle"),
        (WHEEL, "mechanics/forces/test_car.py::test_a_steady_turn_is_that_of_the_single_track_model"), (CATALOGUE,)),
    "transient_fiala_tyre": Check(
        f"Fiala's formulas, and slips that build up as 1 - exp(-x / relaxation), {ON_WHEELS}",
        (f"{TYRES}test_the_force_of_a_slip_angle", BUILD_UP), (WHEEL,), (CATALOGUE,)),
    "pacejka_tyre": Check(
        f"the equations of Pacejka's book in NumPy, {ON_WHEELS}", (f"{TYRES}test_the_magic_formula",), (WHEEL,),
        (CATALOGUE,)),
    "transient_pacejka_tyre": Check(
        f"the equations of Pacejka's book, and slips that build up as 1 - exp(-x / relaxation), {ON_WHEELS}",
        (BUILD_UP,), (WHEEL,), (CATALOGUE,)),
    "ball_on_plane": _force(
        f"{BOUNCE}; 5/7 g sin a down an incline", f"{FORCE}test_restitution",
        f"{FORCE}test_a_ball_rolls_down_an_incline"),
    **{name: _force(BOUNCE, f"{FORCE}test_restitution")
       for name in ("capsule_on_plane", "ellipsoid_on_plane", "ball_on_ball")},
    "ball_on_terrain": Check(
        "a ball that circles in a bowl in closed form, to 1e-6; planes of heights as planes; its power in a driven "
        "four-bar by the nearest point of a hollow, to 1e-5; slopes of runs",
        ("mechanics/forces/test_height_fields.py::test_a_ball_circles_in_a_bowl",
         "mechanics/forces/test_height_fields.py::test_a_plane_of_heights_is_a_plane"),
        (DRIVE,), (WITH_SLOPES, CATALOGUE)),
    "pin_in_slot": _force(
        "walls that give a pin back as fast as it came, or break; a Geneva drive in closed form",
        "mechanics/forces/test_slots.py::test_walls_throw_a_pin_back_or_break",
        "mechanics/forces/test_slots.py::test_a_geneva_drive_by_contact"),
}  # fmt: skip
RESTRAINTS = {
    name: _force(
        "an oracle's forces between frames in four ways, and along joints, to 1e-12", OF_ORACLE, ALONG_JOINTS,
        slopes=(EVERY_NUMBER,))
    for name in ("spring", "damper", "friction")
}  # fmt: skip
CHECKS: Mapping[str, Check] = {**JOINTS, **CONSTRAINTS, **DRIVERS, **FORCES, **RESTRAINTS}  # kind -> its check


def checked(name: str) -> str:
    """The line of the catalogue: by what, and the files of tests."""
    if name not in CHECKS:
        return ""
    check = CHECKS[name]
    files = dict.fromkeys(test.partition("::")[0] for test in check.tests)
    return f"*Checked:* {check.by} ({', '.join(f'`{file}`' for file in files)})"
