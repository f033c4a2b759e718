"""Training critics and revisers: `captions finetune` from data to a checkpoint with its card.

`run` follows one run; `config` holds its settings.
"""
