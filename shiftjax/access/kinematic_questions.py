"""Frames, Jacobians, centres of mass and momenta of a configuration, by `kinematic_terms`. Host code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from shiftjax.access import kinematic_terms as terms
from shiftjax.access.answers import Question
from shiftjax.access.asking import Asking, PlacedFrames, answered
from shiftjax.access.frame_kinds import FrameChain, at_point
from shiftjax.errors import ModelError, nearest, one_of
from shiftjax.plan_elements import ORIGIN

Frame = Any  # a path, "world", or a `FrameKind`
Bodies = str | Iterable[str] | None
Point = Any  # three numbers [m]


class KinematicQuestions(Asking):
    """Of each: shapes of one member; with members they are the first axis."""

    @answered
    def pose(
        self, frame: Frame, *, relative_to: Frame = "world", axes: Frame | None = None, point: Point = ORIGIN
    ) -> Question:
        """(4, 4) [R p; 0 1]: the axes of a frame as columns of R, and the place p of a point of it [m].

        Args:
            frame: a path such as "body:frame" or "body", "world", or a `FrameOn`, `MovingFrame` or other kind.
            relative_to: from whose origin. axes: along whose axes; those of `relative_to` where left out.
            point: (3,) or (B, 3) fixed in the frame [m].
        """
        places = self._placed(frame=at_point(frame, point), relative=relative_to, axes=axes)
        return places.question("pose", terms.pose)

    @answered
    def orientation(self, frame: Frame, *, relative_to: Frame = "world") -> Question:
        """(4,) the orientation of a frame as a unit quaternion, w first, w >= 0."""
        return self._placed(frame=frame, relative=relative_to).question("orientation", terms.orientation)

    @answered
    def twist(
        self, frame: Frame, *, relative_to: Frame = "world", axes: Frame | None = None, point: Point = ORIGIN
    ) -> Question:
        """(6,) angular velocity [rad/s] and velocity [m/s] of a point, as an observer fixed to `relative_to` sees them.

        Args:
            frame, relative_to, axes, point: as those of `pose`.
        """
        places = self._placed(frame=at_point(frame, point), relative=relative_to, axes=axes)
        return places.question("twist", terms.twist)

    @answered
    def screw(self, frame: Frame, *, relative_to: Frame = "world", axes: Frame | None = None) -> Question:
        """(8,) the screw of a motion: axis (3), its point nearest to the origin (3) [m], pitch [m/rad], rate [rad/s].

        In a plane the point is the instant centre, the pitch 0. What does not turn has no axis: the numbers are none.

        Args:
            frame, relative_to, axes: as those of `pose`; the point is in `relative_to`, its numbers along the axes.
        """
        return self._placed(frame=frame, relative=relative_to, axes=axes).question("screw", terms.screw)

    @answered
    def acceleration(
        self,
        frame: Frame,
        *,
        relative_to: Frame = "world",
        axes: Frame | None = None,
        point: Point = ORIGIN,
        spatial: bool = False,
    ) -> Question:
        """(6,) angular acceleration [rad/s^2] and acceleration [m/s^2] of a point, as `relative_to` sees them.

        Args:
            frame, relative_to, axes, point: as those of `pose`.
            spatial: the linear part is the spatial one, acceleration - w x velocity (Featherstone, section 2.10).
        """
        places = self._placed(frame=at_point(frame, point), relative=relative_to, axes=axes)
        return places.question(("acceleration", spatial), terms.acceleration, spatial=spatial)

    @answered
    def jacobian(
        self,
        frame: Frame,
        *,
        relative_to: Frame = "world",
        axes: Frame | None = None,
        point: Point = ORIGIN,
        constrained: bool = False,
        compact: bool = False,
    ) -> Question:
        """(6, n) angular velocity and velocity of a point for a unit of each speed.

        Args:
            frame, relative_to, axes, point: as those of `pose`.
            constrained: n independent speeds, loops closed (`independent_names`), else all speeds (`speed_names`).
            compact: of all speeds only those that move the frame, by the tree (`moving_names`).
        """
        if constrained and compact:
            raise ModelError("compact", "with constrained=True", "one of them", "Leave one of them out.")
        places = self._placed(frame=at_point(frame, point), relative=relative_to, axes=axes)
        speeds = self._moving(places) if compact else None
        key = ("jacobian", constrained, compact)
        return places.question(key, terms.jacobian, speeds=speeds, constrained=constrained)

    def moving_names(self, frame: Frame, *, relative_to: Frame = "world") -> tuple[str, ...]:
        """The speeds that move a frame by the tree as another one sees it: columns of `jacobian(compact=True)`."""
        names = self.plan.speed_names()
        return tuple(names[k] for k in self._moving(self._placed(frame=frame, relative=relative_to)))

    def _moving(self, places: PlacedFrames) -> tuple[int, ...]:
        frame, relative = places.chains["frame"], places.chains["relative"]
        assert frame is not None and relative is not None
        return tuple(terms.moving_speeds(self.plan, frame, relative))

    @answered
    def joint_jacobian(self, joint: str, *, axes: str = "child") -> Question:
        """(6, k) twist of a joint's child frame as its parent frame sees it, for a unit of each of its k speeds.

        Args:
            joint: its path. axes: "child" or "parent", along whose frame's axes.
        """
        path, paths = self.model.resolve(joint), [one.path for one in self.plan.joints]
        if path not in paths:
            todo = nearest(path, paths) or "`shiftjax info MODEL` lists them."
            raise ModelError("joint", repr(joint), "an active joint", todo)
        one_of("axes", axes, ("child", "parent"))
        one = self.plan.joints[paths.index(path)]
        parent, child = FrameChain(one.near_place), FrameChain(one.far_place)
        if one.reverse:
            parent, child = child, parent
        along = {"child": child, "parent": parent}[axes]
        places = PlacedFrames({"frame": child, "relative": parent, "axes": along}, ())
        options = {"speeds": tuple(one.speeds), "constrained": False}
        return places.question(("joint_jacobian", path), terms.jacobian, **options)

    @answered
    def mass(self, of: Bodies = None) -> Question:
        """() mass of some bodies, of all where left out [kg]."""
        nodes = self._bodies_at(of)
        return Question(("mass", nodes), partial(terms.mass, nodes=nodes))

    def _centre(self, of: Bodies, relative_to: Frame, axes: Frame | None, order: int) -> Question:
        nodes, places = self._bodies_at(of), self._placed(relative=relative_to, axes=axes)
        return places.question(("center_of_mass", nodes, order), terms.center_of_mass, nodes=nodes, order=order)

    @answered
    def center_of_mass(self, of: Bodies = None, *, relative_to: Frame = "world", axes: Frame | None = None) -> Question:
        """(3,) centre of mass of a body, of some or of all [m].

        Args:
            of: a path or several; all bodies where left out. relative_to, axes: as those of `pose`.
        """
        return self._centre(of, relative_to, axes, terms.POSE)

    @answered
    def center_of_mass_velocity(
        self, of: Bodies = None, *, relative_to: Frame = "world", axes: Frame | None = None
    ) -> Question:
        """(3,) velocity of a centre of mass as `relative_to` sees it [m/s]; arguments as of `center_of_mass`."""
        return self._centre(of, relative_to, axes, terms.VELOCITY)

    @answered
    def center_of_mass_acceleration(
        self, of: Bodies = None, *, relative_to: Frame = "world", axes: Frame | None = None
    ) -> Question:
        """(3,) acceleration of a centre of mass as `relative_to` sees it [m/s^2]; arguments as of `center_of_mass`."""
        return self._centre(of, relative_to, axes, terms.ACCELERATION)

    @answered
    def center_of_mass_jacobian(
        self,
        of: Bodies = None,
        *,
        relative_to: Frame = "world",
        axes: Frame | None = None,
        constrained: bool = False,
    ) -> Question:
        """(3, n) velocity of a centre of mass for a unit of each speed; arguments as above."""
        nodes, places = self._bodies_at(of), self._placed(relative=relative_to, axes=axes)
        key = ("center_of_mass_jacobian", nodes, constrained)
        return places.question(key, terms.center_of_mass_jacobian, nodes=nodes, constrained=constrained)

    @answered
    def momentum(self, of: Bodies = None, *, about: Frame | None = None, axes: Frame = "world") -> Question:
        """(6,) angular momentum [kg m^2/s] and linear momentum [kg m/s] of some bodies, as the world sees them.

        Args:
            of: a path or several; all bodies where left out.
            about: about whose origin; the centre of mass of these bodies where left out. axes: along whose axes.
        """
        nodes, places = self._bodies_at(of), self._placed(about=about, axes=axes)
        return places.question(("momentum", nodes), terms.momentum, nodes=nodes)

    @answered
    def momentum_matrix(
        self, of: Bodies = None, *, about: Frame | None = None, axes: Frame = "world", constrained: bool = False
    ) -> Question:
        """(6, n) `momentum` for a unit of each speed; about the centre of mass the centroidal momentum matrix."""
        nodes, places = self._bodies_at(of), self._placed(about=about, axes=axes)
        key = ("momentum_matrix", nodes, constrained)
        return places.question(key, terms.momentum_matrix, nodes=nodes, constrained=constrained)
