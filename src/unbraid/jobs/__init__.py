"""Jobs: what a study is made of, run once each on any engine, whatever is killed meanwhile."""
