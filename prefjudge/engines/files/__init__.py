"""Run files on this machine: the rows that matter, without parsing the rest."""
