"""What `make docs` adds to Sphinx: four functions from text to text."""
