"""`finetune-metric`: trains a metric on people's ratings and on the checks that it should pass.

data       exports of `captions stress-metric --export`: originals, changed ones, ratings
scorers    scores with gradients: similarity models and critics
train      the objective, the loop, figures before and after
"""
