"""`check-engine`: whether a critic gives the same answers when it is computed in another way."""
