"""From a scene to its picture (`draw`) and to dense labels of its patches (`patch_labels`)."""
