"""What goes on around collective operations: `join`, for ranks with more batches than others, and `ddp_comm_hooks`."""
