"""Options on trial; they are the group ``experimental`` of the options."""
