"""The mechanics of one lane: kinematics, inertia and bias, reduced equations, reactions, channels."""
