"""Workers, requesters and panels: who they are, how they sign in, and what they qualify for."""
