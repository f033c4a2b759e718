"""The I2C branch: compares a caption with its image by towers, or only with references."""
