"""Tests never depend on the clock; in CI hypothesis tries the same examples every time."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("titan", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("titan")
