"""Measurements, in ratios against others in the same run: `python -m bench [protocol] [records] [network]`."""
