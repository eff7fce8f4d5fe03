#!/usr/bin/env node
// The product of three rows of ternary weights and x: by the variant that postinstall.cjs chose, which uses the GPU if it
// can, else by JavaScript.
const { spawnSync } = require("node:child_process");
const path = require("node:path");

const program = path.join(__dirname, "native", "current", "bin", "ternary-dot");
const run = spawnSync(program, { encoding: "utf8" });
if (run.status === 0) {
  process.stdout.write(run.stdout);
} else {
  const rows = [
    [1, 1, 1, 1, 1, 1, 1, 1],
    [-1, -1, -1, -1, -1, -1, -1, -1],
    [1, 0, -1, 0, 1, 0, -1, 0],
  ];
  const x = [1, 2, 3, 4, 5, 6, 7, 8];
  const dot = (row) => row.reduce((sum, weight, i) => sum + weight * x[i], 0);
  console.log(`JavaScript on the CPU: ${rows.map(dot).join(" ")}`);
}
