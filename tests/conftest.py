"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says more of the machine than of the code; and every run draws others.
settings.register_profile("calm", deadline=None, max_examples=50)
settings.load_profile("calm")
