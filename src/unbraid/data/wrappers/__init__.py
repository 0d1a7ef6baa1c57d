"""Data sets around data sets: some of the rows, correlated factors, pairs, views, tasks, labels, codes."""
