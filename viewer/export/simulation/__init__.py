"""What a page needs to simulate members of its study itself: their lane programs, starts and decisions, and scripts."""
