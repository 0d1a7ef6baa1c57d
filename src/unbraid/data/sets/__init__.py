"""One data set per file, each with its declaration."""
