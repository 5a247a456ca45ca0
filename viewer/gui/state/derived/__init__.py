"""What follows from the state, collected in frames or worked out once an instant."""
