"""Lines and areas: found by color, and read where the axis has its labels."""
