"""Parts that plug-ins do not see."""
