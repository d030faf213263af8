"""Published, measured runs: read, said in the words of the cost model, predicted, and set beside what was measured."""
