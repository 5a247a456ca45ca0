"""`python -m shiftjax` is the command `shiftjax`."""

from shiftjax.cli import main

raise SystemExit(main())
