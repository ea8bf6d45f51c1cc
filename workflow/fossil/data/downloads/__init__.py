"""Downloads of data sets and weights: one downloader, and a module for each source."""
