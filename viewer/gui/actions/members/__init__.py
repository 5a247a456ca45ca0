"""Actions on members of a study: choosing, comparing, sets, designs beside them."""
