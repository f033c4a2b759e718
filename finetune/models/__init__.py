"""The models that can be trained, behind one `protocol`: PaliGemma critics and instruct models."""
