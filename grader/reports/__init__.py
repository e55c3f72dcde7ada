"""Reports: pure functions from records to text. Trusted process; nothing here reads or writes a file."""
