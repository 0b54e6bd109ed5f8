"""Ways to know which URLs are new, behind one interface, so that all are fed and measured alike."""
