"""Pictures: what a coalition learns in a network, and what one party saw of a sum."""
