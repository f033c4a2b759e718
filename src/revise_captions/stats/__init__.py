"""Statistics: intervals, paired tests, correlations, agreement, calibration, leaderboards."""
