"""Poses at any time: joints on cubics between instants, loops closed; live runs; what a camera must show."""
