"""`captions rate`: judged captions to a leaderboard of captioners.

cli ─ leaderboard ┬ autorater ─ error_types        counts by captioner and image, from judged rows
                  ├ formats, error_rates, page     tables and the HTML page
                  └ human_scores                   correlation with people's scores
"""
