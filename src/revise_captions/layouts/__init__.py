"""Layouts of captions beyond an object per row: text tables, COCO JSON, folders of images."""
