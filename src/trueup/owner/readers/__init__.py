"""One module a kind of table that is read in this process: raw columns, and nothing but columns.

A reader applies no condition, no cast and no statistic: what a value is cannot change what is read
of the others.
"""
