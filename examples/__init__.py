"""Programs that show the parts at work."""
