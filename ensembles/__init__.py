"""Studies on top of `simulate`: how designs are drawn, what is stored, how it is shown."""
