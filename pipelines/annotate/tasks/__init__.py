"""Annotation tasks: a stratified sample of a run, for Label Studio or spreadsheets."""
