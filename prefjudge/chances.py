"""Probabilities as people read them."""


def chance_text(probability: float) -> str:
    """Return a probability with two digits: ``0.37``. What is not certain does not look so: ``>0.99``."""
    if probability > 0.995:
        return ">0.99"
    return "<0.01" if probability < 0.005 else f"{probability:.2f}"
