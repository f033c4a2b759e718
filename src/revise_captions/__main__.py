"""`python -m revise_captions`, the same as `captions`."""

from revise_captions.umbrella import main

if __name__ == "__main__":
    main()
