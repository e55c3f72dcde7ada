"""Reports: records in, text out. Trusted process; pure: nothing here reads or writes a file."""
