"""Given kernels: what a kernel is, and the kernels that are not learned."""
