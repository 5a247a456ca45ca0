"""What a kind from outside the package has to do, tried on it: motions, rows, runs, derivatives, files and pictures."""
