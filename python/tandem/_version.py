"""The version of the package, from which CMakeLists.txt and pyproject.toml take theirs."""

__version__ = "0.2.0.dev0"
