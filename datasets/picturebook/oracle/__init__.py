"""From text to truth: `parse` reads a sentence into claims, `truth` evaluates them in a scene."""
