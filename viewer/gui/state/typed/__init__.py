"""What is typed: lines of steps and their completion, names, the search of actions."""
