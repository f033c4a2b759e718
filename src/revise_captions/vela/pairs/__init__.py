"""The I2C branch: an image and a caption, compared by towers, or by references alone."""
