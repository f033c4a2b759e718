"""Input: files of captions as records, and images from files, archives and URLs."""
