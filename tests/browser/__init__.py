"""What a browser sees: run by `make browser`, which needs chromium and chromedriver."""
