"""Clustering: which operators become one kernel, and why the others do not.

`view` is a snapshot of a graph, `fusible` judges single operators, `order` holds the topological
order and the control-flow contexts, `clusterer` merges, `reasons` lists the codes.
"""
