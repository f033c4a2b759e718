"""Gates in front of the critic: images and languages that it was not trained on stay unscored."""
