"""The backend for NVIDIA GPUs: one lane a thread, its state in registers, with the bits of the backend `cpu`."""
