"""What the environment says of a run. What cannot be is refused here, before anything is sent."""
import math
import os


def positive(name, default, kind):
    """A number above 0; its kind is int or float."""
    value = os.environ.get(name, default)
    try:
        if 0 < (number := kind(value)) < math.inf:
            return number
    except ValueError:
        pass
    raise SystemExit(f"{name}={value}: it is a {'whole ' if kind is int else ''}number above 0")


def folder(name, default):
    """A folder to write to; it is made where there is none."""
    path = os.environ.get(name, default)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"{name}={path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise SystemExit(f"{name}={path}: nothing can be written there")
    return path
