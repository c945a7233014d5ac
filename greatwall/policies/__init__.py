"""What a policy is made of and how it is kept in a file. Runs on whatever thread calls it."""
