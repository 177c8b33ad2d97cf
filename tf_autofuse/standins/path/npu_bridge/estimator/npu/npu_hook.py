"""Session hooks of the adapter."""

import os

import tensorflow as tf

_v1 = tf.compat.v1


class NPUEmptyHook(_v1.train.SessionRunHook):
    """Does nothing."""

    def __init__(self, *args, **kwargs):
        super().__init__()


class NPUShutdownHook(NPUEmptyHook):
    """Would stop the device at the end."""


NPUShutDownHook = NPUShutdownHook


class NPUInfeedOutfeedSessionHook(NPUEmptyHook):
    """Would feed the device's loop."""


class NPUBroadcastGlobalVariablesHook(NPUEmptyHook):
    """Would send rank 0's variables to the other ranks: there are none."""


class NPULogOutfeedSessionHook(NPUEmptyHook):
    """Would print what the device sends out of its loop."""


class SetIterationsVarHook(NPUEmptyHook):
    """Would set the device's loop length."""


class NPUCheckpointSaverHook(_v1.train.CheckpointSaverHook):
    """Saves checkpoints as TensorFlow's own hook does."""


class NPUOutputTensorHook(_v1.train.LoggingTensorHook):
    """Calls ``output_fn`` with the list of collected values every ``output_every_n_steps`` runs."""

    def __init__(self, tensors, dependencies=None, output_fn=None, output_every_n_steps=0):
        super().__init__(tensors, every_n_iter=max(output_every_n_steps, 1))
        self._output_fn, self._period, self._values = output_fn, output_every_n_steps, []

    def after_run(self, run_context, run_values):
        """Collect the values of this step and hand them over when it is time."""
        self._values.append(run_values.results)
        if self._output_fn and self._period and len(self._values) >= self._period:
            self._output_fn(self._values)
            self._values = []

    def end(self, session):
        """Hand over what is left."""
        if self._output_fn and self._values:
            self._output_fn(self._values)
        self._values = []


class TellMeStepOrLossHook(_v1.train.SessionRunHook):
    """Keeps the step and the loss of the last run in the process's environment.

    STEP_NOW and LOSS_NOW change with every run; TOTAL_STEP and TARGET_LOSS are those given.
    """

    def __init__(self, step=None, total_step=None, loss=None, final_loss=None):
        if step is None and loss is None:
            raise ValueError("TellMeStepOrLossHook needs a step or a loss")
        wanted = {"STEP_NOW": step, "LOSS_NOW": loss}
        self._fetches = {name: value for name, value in wanted.items() if value is not None}
        self._tell(dict.fromkeys(self._fetches, 0))
        given = {"TOTAL_STEP": total_step, "TARGET_LOSS": final_loss}
        self._tell({name: value for name, value in given.items() if value is not None})

    def before_run(self, run_context):
        """Ask for step and loss."""
        return _v1.train.SessionRunArgs(self._fetches)

    def after_run(self, run_context, run_values):
        """Tell them."""
        self._tell(run_values.results)

    @staticmethod
    def _tell(values):
        os.environ.update({name: str(value) for name, value in values.items()})
