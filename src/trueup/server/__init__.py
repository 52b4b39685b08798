"""The owner's server: the library behind HTTP. Thin: no logic of its own.

Analysts ask, the owner's process answers privately; inference happens on either side.
"""
