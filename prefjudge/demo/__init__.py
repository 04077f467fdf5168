"""A small collection written for prefjudge, so that the whole road can be walked without any other file."""
