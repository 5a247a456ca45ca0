"""Machines that run lane programs; they know nothing of mechanisms."""
