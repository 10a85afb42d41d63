"""Pages and figures worth sending to a colleague; knows how things look, nothing of what they mean."""
