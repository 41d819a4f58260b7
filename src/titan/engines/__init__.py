"""Engines drive agents: `local` with real envelopes, `vectorised` with whole-network arrays."""
