"""What is optimised: value, gradient, closed-form parts and certificates. No loops."""

from pliant.problems.margin import Certificate, MarginDual, svc_dual, svr_dual

__all__ = ["Certificate", "MarginDual", "svc_dual", "svr_dual"]
