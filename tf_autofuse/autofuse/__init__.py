"""The pass: prepare, lower, cluster, schedule, generate, build, replace."""
