"""The methods that the studies compare, with how each is tuned and fitted."""
