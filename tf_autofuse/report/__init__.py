"""What was fused, what was not, and why."""
