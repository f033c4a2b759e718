"""Preference training of captioners, through TRL: reward models, DPO and GRPO."""
