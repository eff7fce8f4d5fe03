// Puts the variant for this machine into native/ when the package is installed. It never breaks `npm
// install`: without a GPU, a network or gpuready the program works on the CPU. A release that is not
// trusted is an error all the same.
const { spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");

const release = process.env.TERNARY_DOT_RELEASE || "https://example.org/ternary-dot";
const key = process.env.TERNARY_DOT_KEY || "RWQ..."; // the maker's, published with this file
const bundled = path.join(__dirname, "bin", "gpuready");
const gpuready = existsSync(bundled) ? bundled : "gpuready";

const run = spawnSync(
  gpuready,
  ["pack", "install", release, "--key", key, "--to", path.join(__dirname, "native")],
  { stdio: "inherit" },
);
if (run.error) {
  console.warn(`ternary-dot: ${gpuready} cannot be started (${run.error.message}): the CPU is used`);
} else if (run.status === 1) {
  console.error("ternary-dot: the release is not trusted, or does not load: nothing was installed");
  process.exit(1);
} else if (run.status !== 0) {
  console.warn("ternary-dot: no variant was installed: the CPU is used");
}
