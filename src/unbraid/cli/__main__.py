"""`python -m unbraid.cli` is `unbraid`."""

from unbraid.cli import main

main()
