"""Random and hostile input: seeded drivers, a campaign that runs many of their cases, and kills.

Each driver is a module with a function ``case(seed, folder)``, see `tests.fuzz.campaign`. A few
cases of each run in the suite (`test_fuzz.py`); ``make fuzz N=10000`` runs many. What a campaign
finds becomes a test of the code that was wrong.
"""
