"""A study as the viewer sees it: members, their scenes, ghosts, ends."""
