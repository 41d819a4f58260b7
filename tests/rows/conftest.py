"""Property tests here draw the same examples in every run and do not look at the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("titan", deadline=None, derandomize=True)
settings.load_profile("titan")
