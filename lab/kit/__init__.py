"""What trials, benchmarks and tests share: runs of the program, terminals, servers, namespaces, records, tables."""
