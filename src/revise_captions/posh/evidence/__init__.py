"""What the offline judge finds for and against a component in other scene graphs."""
