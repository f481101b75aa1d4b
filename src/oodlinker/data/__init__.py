"""The only room that reads users' data; gives back a TemporalGraph."""
