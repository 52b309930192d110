"""What tests of several packages share. Runs of the program, terminals, waits and free ports are in lab.kit."""
