// Puts the variant for this machine into native/. It never breaks `npm install`: without a GPU, a network or gpuready
// the app works on the CPU. A release that is not trusted is an error all the same.
const { spawnSync } = require("node:child_process");
const path = require("node:path");

const release = process.env.TERNARY_DOT_RELEASE || "https://example.org/ternary-dot";
const key = process.env.TERNARY_DOT_KEY || "RWQ..."; // the maker's, published with this file
const native = path.join(__dirname, "native");

function program() {
  try {
    return require.resolve(`gpuready-linux-${process.arch}/bin/gpuready`);
  } catch {
    return "gpuready"; // of PATH: this machine's npm left out the optional package
  }
}

// The exit code: 0 done, 1 not trusted or damaged, 2 to 4 not possible here.
function pack(...args) {
  const run = spawnSync(program(), ["pack", ...args, "--to", native], { stdio: "inherit" });
  if (run.error) console.warn(`ternary-dot: gpuready cannot be started: ${run.error.message}`);
  return run.error ? 4 : run.status;
}

const install = () => pack("install", release, "--key", key, "--quiet");
let status = install();
// What `verify` finds damaged, the next installation fetches again.
if (status === 0 && pack("verify", "--quiet") !== 0) status = install();
if (status === 1) {
  console.error("ternary-dot: the release is not trusted, or does not load: nothing was installed");
  process.exit(1);
}
if (status !== 0) console.warn("ternary-dot: no variant was installed");
