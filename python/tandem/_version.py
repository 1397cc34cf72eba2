"""The version of the package; CMakeLists.txt and pyproject.toml say the same."""

__version__ = "0.1.0"
