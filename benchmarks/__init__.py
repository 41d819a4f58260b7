"""Benchmarks: ratios measured side by side in one run. Run all with `make bench`."""
