"""Keys, defaults and checks of the configuration."""
