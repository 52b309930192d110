"""`make knees`: every finder on simulated and on real services; results, corpus, docs/benchmark-knees.md, its picture."""

import sys

from .trial import main

sys.exit(main())
