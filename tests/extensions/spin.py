"""A channel of a frame: the part of its body's angular velocity about the frame's own x."""

from shiftjax.algebra import dot, matvec
from shiftjax.measures.channel import Quantity
from shiftjax.measures.channels import CHANNELS
from shiftjax.rotations import AXES


def spin(state, place):
    chain = state.motion.chain()
    return [dot(chain.node(place.node).w, matvec(chain.frame(place)[0], AXES["x"]))]


CHANNELS["spin"] = Quantity("frame", spin, "rad/s")
