"""Training the bundled reviser."""
