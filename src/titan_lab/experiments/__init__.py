"""Results that anybody can reproduce: `titan reproduce`."""
