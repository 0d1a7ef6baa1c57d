"""`python -m unbraid`, the same as `unbraid`."""

from unbraid.cli import main

main()
