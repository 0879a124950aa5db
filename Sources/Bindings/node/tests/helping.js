'use strict';
const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

const wrapper = require.resolve('..');

/** Runs a program that has `chime` and `queue`; gives its exit status and what it printed. */
exports.run = (program, ...flags) => {
  const text = `const chime = require(${JSON.stringify(wrapper)}); const queue = new chime.Queue(); ${program}`;
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', text], { encoding: 'utf8', timeout: 60_000 });
  return { status: signal ?? status, stdout, stderr };
};

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

/** Collects until the condition holds. */
exports.collected = async (condition) => {
  for (let round = 0; round < 300; round++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, round)); // finalizers are tasks of the loop
    if (condition()) return;
  }
  assert.fail('not collected');
};

exports.failsWith = (code, call, text = /./) => assert.throws(call, (error) => {
  assert.equal(error.name, 'ChimeError');
  assert.equal(error.code, `CHIME_ERROR_${code}`, error.message);
  assert.match(error.message, text);
  return true;
});
