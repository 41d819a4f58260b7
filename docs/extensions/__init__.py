"""What `make docs` adds to Sphinx: three functions from text to text."""
