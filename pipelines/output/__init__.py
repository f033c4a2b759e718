"""The output: row schema, journal, and writers for each kind of file."""
