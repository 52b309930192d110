"""Simulated services whose truth is known, many of each family, on which changes of the analysis are judged.

python -m lab.population score --split validation --count 100 --save FILE [--family NAME ...]
python -m lab.population report FILE
python -m lab.population compare OLD NEW
"""
