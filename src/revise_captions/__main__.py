"""`python -m revise_captions`, the same as `captions`."""

from revise_captions.command_line.captions import main

if __name__ == "__main__":
    main()
