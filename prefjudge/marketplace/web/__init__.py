"""The marketplace on the network: the requester API, the worker site and the admin page."""
