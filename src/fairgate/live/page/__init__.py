"""The page: what an operator sees of a gate, and the buttons; its figures are those of the API."""
