"""What people see of the marketplace, and the requester API, on the network."""
