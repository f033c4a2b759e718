"""Training data: records, checks, image cache, augmentation, and the tokens that carry loss."""
