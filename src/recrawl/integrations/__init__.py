"""recrawl inside other programs. Each room needs the program it is for, and nothing else here needs any of them."""
