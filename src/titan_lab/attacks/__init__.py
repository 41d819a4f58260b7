"""Attacks on what is opened, carried out to show what an answer gives away."""
