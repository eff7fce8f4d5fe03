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

    def test_a_name_that_begins_with_a_dash_is_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.environ["GGUF"], f"{folder}/-x.gguf", "tq2"], check=True)
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual(len(gpuready.ternary.inspect("-x.gguf").tensors), 2)
                self.assertEqual(gpuready.ternary.convert("-x.gguf", "-y.gguf", "tq1_0").exit_code, 0)
                self.assertEqual(gpuready.ternary.verify("-y.gguf", device="cpu", tier="scalar", threads=1).exit_code, 0)
            finally:
                os.chdir(before)

    def test_what_no_program_can_take_is_wrong_usage(self):
        for word in ("a\0b", "a\ud800b"):
            with self.assertRaises(gpuready.UsageError) as wrong:
                gpuready.detect(replay=word)
            self.assertIn("the argument", str(wrong.exception))

    def test_the_module_is_the_program(self):
        done = subprocess.run([sys.executable, "-m", "gpuready", "doctor", "--replay", self.replay], capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("The kernel module is 580.95.05", done.stdout)

    def test_the_program_is_this_packages(self):
        """As TARGET, a folder that `pip install --target` filled, or as WHEEL, the wheel itself, says."""
        script = "import gpuready; print(gpuready.__version__, gpuready.program())"
        for variable, program in (("TARGET", "{}/bin/gpuready"), ("WHEEL", None)):
            path = os.environ.get(variable)
            if not path:
                continue
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": path})
            if program:
                self.assertEqual(done.stdout, f"{gpuready.__version__} {program.format(path)}\n", done.stderr)
            else:
                self.assertIn("no gpuready program belongs to this package", done.stderr)
                done = subprocess.run([sys.executable, "-m", "gpuready", "--version"], capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": path})
                self.assertEqual(done.returncode, 2)
                done = subprocess.run([sys.executable, "-m", "gpuready", "--version"], capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": path, "GPUREADY_HELPER": str(gpuready.program())})
                self.assertEqual((done.returncode, done.stdout.split()[0]), (0, "gpuready"))

    def test_the_newest_of_two_records_counts_and_links_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.dirname(gpuready.__file__), f"{folder}/gpuready")  # into an installer's cache
            for version in ("0.0.9", "0.0.10"):  # `pip install --target --upgrade` leaves the older one's
                os.mkdir(f"{folder}/gpuready-{version}.dist-info")
                with open(f"{folder}/gpuready-{version}.dist-info/METADATA", "w") as record:
                    record.write(f"Metadata-Version: 2.1\nName: gpuready\nVersion: {version}\n")
            done = subprocess.run([sys.executable, "-c", "import gpuready; print(gpuready.__version__)"], text=True,
                                  capture_output=True, env={**os.environ, "PYTHONPATH": folder})
            self.assertEqual(done.stdout, "0.0.10\n", done.stderr)

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
