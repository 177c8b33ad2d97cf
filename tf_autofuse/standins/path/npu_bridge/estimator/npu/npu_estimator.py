"""Estimators of the adapter: TensorFlow's own, which run on the host."""

import inspect

from npu_bridge.estimator.npu._estimator_api import estimator_class

_Estimator = estimator_class("Estimator")
_EstimatorSpec = estimator_class("EstimatorSpec")


class NPUEstimator(_Estimator):
    """TensorFlow's Estimator; settings for the NPU only are dropped."""

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        job_start_file="",
        warm_start_from=None,
    ):
        super().__init__(
            model_fn=model_fn,
            model_dir=model_dir,
            config=config,
            params=params,
            warm_start_from=warm_start_from,
        )


class NPUEstimatorSpec(_EstimatorSpec):
    """TensorFlow's EstimatorSpec; ``host_call`` and other NPU fields are dropped."""

    def __new__(cls, *args, **kwargs):
        known = inspect.signature(_EstimatorSpec.__new__).parameters
        return super().__new__(cls, *args, **{k: v for k, v in kwargs.items() if k in known})
