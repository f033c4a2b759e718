"""The critic of text in images: what a sentence quotes, compared with what an OCR reads."""
