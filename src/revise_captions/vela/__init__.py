"""VELA: a trained metric for long captions (Matsuda et al. 2025)."""
