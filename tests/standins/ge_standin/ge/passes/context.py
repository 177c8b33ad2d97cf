"""What a pass may ask and say; dead after the call."""


class PassContext:
    """Texts only; an option that is not set raises."""

    def __init__(self, pass_name, options):
        self._name, self._options, self._error = pass_name, options, ""
        self._valid = True

    def _invalidate(self):
        self._valid = False

    def _check(self):
        if not self._valid:
            raise RuntimeError("the pass context is not valid any more")

    def get_pass_name(self):
        self._check()
        return self._name

    def set_pass_name(self, name):
        self._check()
        self._name = str(name)

    def get_error_message(self):
        self._check()
        return self._error

    def set_error_message(self, message):
        self._check()
        if not isinstance(message, str):
            raise TypeError("incompatible function arguments")
        self._error = message

    def get_option_value(self, key):
        self._check()
        if key not in self._options:
            raise RuntimeError("option {} is not set".format(key))
        return self._options[key]
