"""`captions read-chart`: the charts in image files, printed as tables, text, CSV or JSON."""
