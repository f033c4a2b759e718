"""`finetune-metric`: a metric trained on people's ratings and on the checks that it should pass.

data       what `captions stress-metric --export` wrote: originals, changed ones, ratings
scorers    scores with gradients: similarity models and critics
train      the objective, the loop, figures before and after
"""
