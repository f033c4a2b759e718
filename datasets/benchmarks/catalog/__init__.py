"""What each benchmark is: license, source, files, reader, known counts, and published figures."""
