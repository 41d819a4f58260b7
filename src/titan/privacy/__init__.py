"""What coalitions see, and how few rows are too few to release."""
