"""The one import of TensorFlow; a missing one is told apart from a broken one."""

from tfrec_tools.errors import MissingDependencyError

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    if error.name != "tensorflow":
        raise  # TensorFlow is there but broken: show its own error, not ours
    raise MissingDependencyError(
        "reading with tf.data needs TensorFlow; install it with: pip install 'tfrec-tools[tensorflow]'"
    ) from None

__all__ = ["tf"]
