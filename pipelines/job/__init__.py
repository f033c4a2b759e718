"""The main job: input to output in windows, resumable, on one machine or on many through Ray.

`run` is the entry point, `window` takes one window through the job, and `rounds` is the
critic-and-revise loop.
"""
