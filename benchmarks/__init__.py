"""What performance claims rest on. `make bench` runs all of it and prints tables.

CPU time of this process alone, the server being another one; variants interleaved, the
least of several rounds kept. Trust the ratios of one run, not the absolute numbers.
"""
