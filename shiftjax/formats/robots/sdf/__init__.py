"""Models and worlds of SDFormat files as documents of the Shift format."""
