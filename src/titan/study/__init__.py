"""A study: who takes part, and what each party keeps of its own part."""
