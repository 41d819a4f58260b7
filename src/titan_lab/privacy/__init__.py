"""From which coalitions a network hides, and what the others work out from what they saw."""
