"""The main job: input to output in windows, resumable, on one machine or on many through Ray.

`run` is the entry, `window` the flow of a window, and `rounds` the critic-and-revise loop.
"""
