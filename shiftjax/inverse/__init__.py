"""The forces that known motions take, at instants by themselves."""
