"""What a study is: its words, its members and their numbers. Host only, no jax."""
