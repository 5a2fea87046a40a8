"""Reads the environment variables of a run, and refuses impossible values before a request is sent."""
import math
import os


def positive(name, default, kind):
    """A number above 0. kind is int or float."""
    value = os.environ.get(name, default)
    try:
        if 0 < (number := kind(value)) < math.inf:
            return number
    except ValueError:
        pass
    raise SystemExit(f"{name}={value}: not a {'whole ' if kind is int else ''}number above 0")


def folder(name, default):
    """The path of a directory to write to. The directory is created if it is missing."""
    path = os.environ.get(name, default)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"{name}={path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise SystemExit(f"{name}={path}: no permission to write there")
    return path
