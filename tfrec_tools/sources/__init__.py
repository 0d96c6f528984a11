"""Where records come from. One module per kind of input."""
