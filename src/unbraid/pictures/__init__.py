"""Pictures of data and runs: sheets, traversals, embeddings, matrices, neighbours."""
