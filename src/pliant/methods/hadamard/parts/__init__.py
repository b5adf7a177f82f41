"""DANK and KNPL in parts: one problem without an intercept for each part, and refinement."""
