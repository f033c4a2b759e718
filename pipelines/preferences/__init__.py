"""Preference pairs from verified units (FeedQuill) and from revisions."""
