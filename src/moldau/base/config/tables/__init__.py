"""Every setting, a row each: the one place where its type, default, allowed values and effect are written down.

A file is a part of one scope's table (`broker_*`, `topic`, `producer`, `consumer`, `admin`), or rows that several
scopes share (`client_*`, `security`). `moldau.base.config.scopes` puts them together.
"""
