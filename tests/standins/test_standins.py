"""NPU scripts on a host without the NPU packages."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("tensorflow")

from tf_autofuse import standins

IMPORTED_BY_SCRIPTS = """
    NPURunConfig ProfilingConfig MemoryConfig DumpConfig DynamicInputConfig NPUEstimator
    NPUEstimatorSpec NPUCheckpointSaverHook NPUOutputTensorHook NPUShutdownHook NPUEmptyHook
    NPUBroadcastGlobalVariablesHook NPUDistributedOptimizer NPUOptimizer
    npu_distributed_optimizer_wrapper npu_allreduce NPULossScaleOptimizer FixedLossScaleManager
    ExponentialUpdateLossScaleManager npu_ops npu_rnn npu_scope keras_to_npu npu_strategy util
    npu_plugin npu_unary_ops hccl_ops RewriterConfig npu_hooks_append npu_callbacks_append
    npu_config_proto npu_graph_options npu_optimizer_options npu_run_config_init
    set_keras_session_npu_config init_resource shutdown_resource close_session get_npu_rank_id
    get_npu_rank_size get_npu_local_rank_id get_npu_local_rank_size npu_keras_optimizer
    npu_tf_optimizer npu_clear_session NpuEmptyHook TellMeStepOrLossHook KerasDistributeOptimizer
    NPUBroadcastGlobalVariablesCallback create_group destroy_group get_rank_id get_rank_size
    set_split_strategy_by_idx set_split_strategy_by_size profiler scoped_graph_manager
""".split()

MODULES = """
    npu_bridge.npu_init npu_bridge.helper.helper npu_bridge.estimator.npu_ops
    npu_bridge.estimator.npu_unary_ops npu_bridge.estimator.npu_aicore_ops
    npu_bridge.estimator.npu.npu_saver npu_bridge.estimator.npu.npu_callbacks
    npu_bridge.estimator.npu.npu_convert_dropout npu_bridge.profiler.profiler
    npu_bridge.scoped_graph_manager.scoped_graph_manager hccl.manage.api hccl.split.api
    npu_device.compat.v1.npu_init npu_device.distribute npu_device.train npu_device.ops
    npu_device.configs.experimental
""".split()


def run(code, *paths):
    """Output of a script with the stand-ins behind `paths` on its path."""
    head = "import sys; from tf_autofuse import standins; standins.offer()\n"
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    env["PYTHONPATH"] = os.pathsep.join(list(map(str, paths)) + [p for p in sys.path if p])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + textwrap.dedent(code)],
        env=env,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().split()


@pytest.mark.parametrize("module", ["npu_bridge.npu_init", "npu_device.compat.v1.npu_init"])
def test_star_import_gives_the_names_scripts_use(module):
    code = "from {} import *\nprint(*sorted(globals()))".format(module)
    assert set(IMPORTED_BY_SCRIPTS) <= set(run(code))


def test_modules_import():
    code = "import importlib\nfor name in {!r}: print(importlib.import_module(name).__name__)"
    assert run(code.format(MODULES)) == MODULES


def test_options_are_those_of_the_adapter():
    code = """
        import npu_device
        options = npu_device.global_options()
        options.graph_run_mode = 1
        options.jit_compile = "auto"
        options.experimental.graph_memory_optimize_config.recompute = "auto"
        print(sorted(options.as_dict()) == ["graph_run_mode", "jit_compile", "recompute"])
        for name, value in (("graph_run_mode", 3), ("precison_mode", "fp16"), ("dump_config", 1)):
            try:
                setattr(options, name, value)
            except ValueError as error:
                print(str(error).replace(" ", "_"))
        print(npu_device.configs.run_context_options().experimental.enable_graph_parallel)
        builder = npu_device.compat.v1.SessionConfigBuilder()
        builder.parameter_map["use_off_line"].b = True
        print(len(builder.session_config.graph_options.rewrite_options.custom_optimizers))
    """
    assert run(code) == [
        "True",
        "global_options.graph_run_mode_is_3:_allowed_is_one_of_0,_1",
        "global_options_has_no_option_precison_mode:_did_you_mean_precision_mode?",
        "global_options.dump_config_is_a_group_of_options",
        "None",
        "1",
    ]


def test_vector_core_operators():
    code = """
        from npu_bridge.estimator import npu_aicore_ops as ops
        import numpy as np, tensorflow as tf
        tf.compat.v1.disable_eager_execution()
        x = np.array([[1.0, -2.0, 4.0, -3.0]], "float32")
        ones, zeros = np.ones(4, "float32"), np.zeros(4, "float32")
        with tf.compat.v1.Session() as session:
            got = session.run([ops.prelu(tf.constant(x), 0.25), ops.centralization(x, [-1]),
                               ops.layer_norm(x, ones, zeros, begin_norm_axis=1)[0]])
        want = [np.where(x > 0, x, x / 4), x - x.mean(), (x - x.mean()) / x.std()]
        print(all(np.allclose(a, b, atol=1e-5) for a, b in zip(got, want)))
    """
    assert run(code) == ["True"]


def test_session_script():
    code = """
        from npu_bridge.npu_init import *
        import tensorflow as tf
        v1 = tf.compat.v1
        v1.disable_eager_execution()
        session, shutdown = init_resource(config=v1.ConfigProto())
        shutdown_resource(session, shutdown)
        close_session(session)
        config = npu_config_proto(v1.ConfigProto())
        npu_config_proto(config)
        rewrite = config.graph_options.rewrite_options
        print([o.name for o in rewrite.custom_optimizers], rewrite.remapping == RewriterConfig.OFF)
        print(get_npu_rank_id(), get_npu_rank_size(), len(npu_hooks_append()))
        with npu_scope.disable_autofuse():
            y = tf.abs(tf.constant(1.0))
        with npu_scope.without_npu_compile_scope():
            z = tf.abs(y)
        print(y.op.get_attr("_disable_autofuse_scope"), len(z.op.control_inputs))
    """
    assert run(code) == ["['NpuOptimizer']", "True", "0", "1", "1", "True", "0"]


def test_loss_scaling_steps_and_skips():
    code = """
        from npu_bridge.npu_init import *
        import tensorflow as tf
        v1 = tf.compat.v1
        v1.disable_v2_behavior()
        x = v1.placeholder(tf.float32, [])
        w = v1.get_variable("w", initializer=tf.constant(1.0))
        manager = ExponentialUpdateLossScaleManager(16.0, incr_every_n_steps=2, decr_ratio=0.5)
        inner = NPUDistributedOptimizer(v1.train.GradientDescentOptimizer(0.5))
        train = NPULossScaleOptimizer(inner, manager).minimize(w * x)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for value in (1.0, 1.0, float("inf"), float("inf"), 1.0):
                session.run(train, {x: value})
                print(*session.run([w, manager.get_loss_scale()]))
    """
    assert list(map(float, run(code))) == [0.5, 16, 0, 32, 0, 32, 0, 16, -0.5, 16]


def test_tf2_script():
    code = """
        import tensorflow as tf
        import npu_device
        import npu_device.compat
        device = npu_device.open().as_default()
        options = npu_device.global_options()
        options.precision_mode = "allow_mix_precision"
        options.dump_config.enable_dump = True
        print(npu_device.global_options().dump_config.enable_dump, options.debug_dir)
        with device.scope(), npu_device.keep_dtype_scope():
            pass
        npu_device.compat.enable_v1()
        npu_device.compat.enable_v1()
        x = tf.compat.v1.placeholder(tf.float32, [1])
        with tf.compat.v1.Session() as session:
            print(session.run(tf.abs(x), {x: [-2.0]})[0])
    """
    assert run(code) == ["True", "None", "2.0"]


def test_estimator_configuration():
    code = """
        from npu_bridge.npu_init import *
        try:
            config = NPURunConfig(model_dir="d", iterations_per_loop=7, save_summary_steps=3)
            print(config.npu_settings["iterations_per_loop"], config.save_summary_steps)
        except NotImplementedError as error:
            print("tf.estimator" in str(error))
    """
    assert run(code) in (["7", "3"], ["True"])


def test_a_real_package_is_never_hidden(tmp_path):
    (tmp_path / "npu_bridge").mkdir()
    (tmp_path / "npu_bridge" / "__init__.py").write_text("real = True\n")
    code = """
        import npu_bridge
        print(npu_bridge.real, standins.real_adapter())
    """
    assert run(code, tmp_path) == ["True", "npu_bridge"]
    code = "import npu_device; print(standins.real_adapter())"
    assert run(code) == ["None"]


def test_offer_and_withdraw():
    before = list(sys.path)
    standins.offer()
    standins.offer()
    assert sys.path == before + [standins.folder()]
    standins.withdraw()
    assert sys.path == before
