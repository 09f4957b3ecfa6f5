"""``python -m rankwise`` is the command ``rankwise``."""

from rankwise.cli.main import main

if __name__ == "__main__":
    main()
