"""A folder of training data: its rows by split, its images, and where they come from."""
