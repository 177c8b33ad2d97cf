"""TensorFlow's Estimator classes, where the installed TensorFlow still has them."""

import tensorflow as tf


def estimator_class(name):
    """``tf.compat.v1.estimator.<name>``, or a class whose construction says that it is gone."""
    module = getattr(tf.compat.v1, "estimator", None)
    found = getattr(module, name, None)
    if found is not None:
        return found

    class Missing:
        """Raises when made."""

        def __new__(cls, *args, **kwargs):
            raise NotImplementedError(
                "{} needs tf.estimator, which TensorFlow {} does not have".format(
                    cls.__name__, tf.__version__
                )
            )

    Missing.__name__ = name
    return Missing
