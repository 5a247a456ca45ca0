"""Other codes that step mechanisms of hinges: adapters, and one judge of what their motions are worth."""
