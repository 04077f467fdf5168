"""Lines: the bytes of files as blocks of whole lines, their fields, numbers and ids; and atomic writing."""
