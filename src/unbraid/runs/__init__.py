"""Runs on disk: one run from its settings to its folder, and the table of many."""
