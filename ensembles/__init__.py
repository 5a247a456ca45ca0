"""Studies on top of `simulate`: sampling of designs, storage of results, pictures."""
