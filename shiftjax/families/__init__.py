"""Planar linkages of one freedom, each with a topology of its own, simulated in one call.

`simulate` takes arrays, as the public data set LINKS has them, and gives a `FamilyMotion`: curves, derivatives,
margins, where linkages lock, and gradients to every point. `of_models` makes such arrays of models. `dynamics` runs
them under forces. Nothing is compiled for a topology.
"""

from shiftjax.families.dynamics import FamilyRun, dynamics
from shiftjax.families.locks import Locks
from shiftjax.families.models import Linkages, of_models
from shiftjax.families.motion import FamilyMotion
from shiftjax.families.order import Solvability
from shiftjax.families.simulation import simulate

__all__ = ["FamilyMotion", "FamilyRun", "Linkages", "Locks", "Solvability", "dynamics", "of_models", "simulate"]
