"""The one place that parses rationales: what their words call wrong becomes data."""
