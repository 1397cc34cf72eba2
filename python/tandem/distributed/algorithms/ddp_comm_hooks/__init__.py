"""Hooks for `DistributedDataParallel.register_comm_hook`; see `default_hooks`."""
