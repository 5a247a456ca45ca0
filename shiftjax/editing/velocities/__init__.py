"""Motions that a mechanism can make at a pose, to first order: screws, instant centres, ellipsoids of velocity."""
