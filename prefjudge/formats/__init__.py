"""Files in, tables out: TREC and MS MARCO formats, read in columns and written atomically."""
