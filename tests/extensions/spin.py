"""A channel of a frame: its body's angular velocity about the frame's own x."""

from shiftjax.algebra import dot, transpose
from shiftjax.measures.channel import Quantity
from shiftjax.measures.channels import CHANNELS


def spin(state, place):
    R, _ = state.motion.pose(place)
    return [dot(transpose(R)[0], state.motion.angular_velocity(place))]


CHANNELS["spin"] = Quantity("frame", spin, "rad/s")
