"""Multiple kernel learning of pliant, beside a textbook SimpleMKL and MKLpy."""
