"""The command line: ``tfrec`` with its commands, and ``tfrec-convert``."""
