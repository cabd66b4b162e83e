"""What must hold between settings, as tables of small named functions; and the defaults that follow from others."""
