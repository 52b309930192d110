"""What processes of capexplorer share: lines over pipes, isolated starts, signals, /proc/PID/stat. The standard library alone, so
that the supervisor, which starts before gevent and without site-packages, uses it, too.
"""
