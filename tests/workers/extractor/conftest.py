"""Property tests judge answers, not the machine: no deadline."""

from hypothesis import settings

settings.register_profile("extractor", deadline=None)
settings.load_profile("extractor")
