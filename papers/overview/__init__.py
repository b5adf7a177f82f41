"""Every table and figure of the papers that can be rerun, on one page; and advice beside it."""
