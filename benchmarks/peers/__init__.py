"""The other ways to do the same work: small programs as a user would write them."""
