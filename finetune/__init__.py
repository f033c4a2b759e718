"""Training critics and revisers: `finetune-critic` from data to a checkpoint with its card.

`run` follows one run; `config` holds its settings.
"""
