"""The I2C branch: an image and a caption, compared by towers, a critic, or references alone."""
