"""What is known, told to language models by the Model Context Protocol: the same answers as of the API."""
