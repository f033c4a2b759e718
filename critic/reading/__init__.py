"""The one place where the words of a rationale are read: what they call wrong becomes data."""
