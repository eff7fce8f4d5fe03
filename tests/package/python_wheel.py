"""`import gpuready` of an installed wheel, as its users write it. MACHINE names a recorded machine."""
import dataclasses
import inspect
import os
import subprocess
import sys
import tempfile
import typing
import unittest

import gpuready


class Wheel(unittest.TestCase):
    replay = os.environ["MACHINE"]

    def test_a_diagnosis_is_typed(self):
        report = gpuready.diagnose(replay=self.replay)
        self.assertIsInstance(report, gpuready.Report)
        self.assertEqual((report.exit_code, report.command), (1, "doctor"))
        self.assertEqual(report.findings[0].id, "driver-library-mismatch")
        self.assertEqual(report.findings[0].evidence[0].source, "nvmlInit_v2()")
        self.assertEqual(report.machine.gpus[0].name, "NVIDIA H100 80GB HBM3")
        self.assertIs(typing.get_type_hints(gpuready.types.Report)["machine"], gpuready.types.Machine)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            report.exit_code = 0

    def test_detection_and_tests(self):
        self.assertEqual(len(gpuready.detect(replay=self.replay).gpu_status), 1)
        tested = gpuready.check(device="cpu", level="quick")
        self.assertEqual({verdict.status for verdict in tested.verdicts}, {"passed"})
        only = gpuready.test(device=["cpu"], only="compute", level="quick")
        self.assertEqual([verdict.test for verdict in only.verdicts], ["compute"])
        self.assertIn(gpuready.status(state="/nonexistent/results.json").standing, "never_tested")

    def test_a_result_is_kept_for_status(self):
        with tempfile.TemporaryDirectory() as folder:
            gpuready.check(device="cpu", level="quick", state=f"{folder}/kept", wait=1)
            self.assertTrue(os.path.exists(f"{folder}/kept"))
            self.assertNotEqual(gpuready.status(state=f"{folder}/kept").exit_code, 2)
            with self.assertRaises(gpuready.UsageError) as missing:
                gpuready.test(device="cpu", state=f"{folder}/no/kept")
            self.assertIn("No such file or directory", str(missing.exception))

    def test_every_argument_is_an_option_of_the_command(self):
        for function in (gpuready.detect, gpuready.check, gpuready.test, gpuready.status):
            said = subprocess.run([gpuready.program(), function.__name__, "--help"], capture_output=True, text=True).stdout
            for name in inspect.signature(function).parameters:
                self.assertIn(" --" + name.replace("_", "-"), said)

    def test_ternary_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.environ["GGUF"], f"{folder}/model.gguf", "tq2"], check=True)
            before = gpuready.ternary.inspect(f"{folder}/model.gguf")
            self.assertEqual([tensor.format for tensor in before.tensors], ["tq2_0", None])
            done = gpuready.ternary.convert(f"{folder}/model.gguf", f"{folder}/out.gguf", "tq1_0")
            self.assertEqual((done.exit_code, os.path.exists(f"{folder}/out.gguf")), (0, True))
            verified = gpuready.ternary.verify(f"{folder}/out.gguf", device="cpu", tier="scalar", threads=1)
            self.assertEqual(verified.exit_code, 0)
            timed = gpuready.ternary.bench(shape="64x64", device="cpu", tier="scalar", threads=1)
            self.assertEqual(timed.exit_code, 0)
            with self.assertRaises(gpuready.UsageError):
                gpuready.ternary.inspect("/no/such/model.gguf")

    def test_errors_are_exceptions(self):
        with self.assertRaises(gpuready.UsageError) as wrong:
            gpuready.check(level="none")
        self.assertIn("none", str(wrong.exception))
        self.assertEqual(wrong.exception.exit_code, 2)
        with self.assertRaises(gpuready.UsageError):
            gpuready.detect(replay="/no/such/machine.json")
        with self.assertRaises(gpuready.NoAnswer):
            gpuready.test(device="cpu", duration=60, timeout=0.5)

    def test_the_caller_loads_no_gpu_library(self):
        gpuready.check(device="cpu")
        with open("/proc/self/maps") as maps:
            self.assertNotRegex(maps.read(), "libcuda|libnvidia|libgpuready|libvulkan")


unittest.main()
