"""Layouts of captions beyond one object a row: tables of text, COCO JSON, folders of images."""
