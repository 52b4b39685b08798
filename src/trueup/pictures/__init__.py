"""Pictures: plotly charts to look into, and drawings as SVG that need nothing.

Numbers come in and pictures go out: nothing here knows what was asked, or how it was inferred.
"""
