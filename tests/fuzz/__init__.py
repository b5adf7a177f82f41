"""Fuzzing with random and malicious input: seeded drivers, a campaign, and killed processes.

Each driver is a module with a function ``case(seed, folder)``; see `tests.fuzz.campaign`. A few
cases run in the test suite (`test_fuzz.py`); ``make fuzz N=10000`` runs many. Each finding of a
campaign becomes a regression test.
"""
