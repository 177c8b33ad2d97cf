"""Loop IR: one cluster as scalar math over named axes.

`ir` holds the node classes, `ops` the table of scalar operations, `verify` the checks, `text` the
printed form, `interp` the numpy interpreter that defines the meaning, `merge` axis merging and
`spec` the shape spec that the runtimes read.
"""
