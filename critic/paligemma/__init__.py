"""PaliGemma 2 critics: loading, packing of prompts, forward passes, decoding, and vLLM.

`critic` is the entry; `packing` lays a caption and its questions out as one row under a tree mask.
"""
