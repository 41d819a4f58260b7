"""Pages for people: what a study will open, to be read and signed."""
