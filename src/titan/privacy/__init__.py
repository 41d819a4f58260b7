"""What coalitions see, what they can infer from it, and from which of them a network hides."""
