"""Where jobs run: anything that looks like `concurrent.futures.Executor`."""
