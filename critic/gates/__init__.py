"""Gates before the critic: images and languages that it was not trained on stay unscored."""
