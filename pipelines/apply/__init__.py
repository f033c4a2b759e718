"""What people decided about a run, taken into its captions.

cli ─ run ┬ people     decisions of one or several people: agreement, majority, adjudication
          ├ captions   a row's captions and revisions, as decided
          └ in_place   files beside images, replaced one by one, and restored
"""
