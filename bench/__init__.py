"""Measurements, in ratios against others in the same run: `python -m bench`, or some of them by name."""
