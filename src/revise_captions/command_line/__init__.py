"""What makes a command: options from dataclass fields, help, how it runs and ends, `captions`."""
