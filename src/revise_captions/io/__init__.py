"""Input: caption files as records, and images from files, archives and URLs."""
