// The official MCP client of TypeScript, driven by lines of JSON on stdin; what happens comes as
// lines of JSON on stdout. `handshake`: SDK 1, initialize. `stateless`: SDK 2, revision 2026-07-28.
// Use: node drive.cjs FOLDER-OF-PACKAGES handshake|stateless COMMAND ARGUMENT…
'use strict';
const { createRequire } = require('node:module');
const readline = require('node:readline');

const [, , folder, dialect, command, ...args] = process.argv;
const load = createRequire(`${folder}/package.json`);
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const who = { name: 'shrooms-tests', version: '1' };
const TIMEOUT = 120_000;

function handshake(how) {
  const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client(who);
  const call = (params, options) => client.callTool(params, undefined, options);
  return { client, transport: new StdioClientTransport(how), call };
}

function stateless(how) {
  const { Client } = load('@modelcontextprotocol/client');
  const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');
  const client = new Client(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const call = (params, options) => client.callTool(params, options);
  return { client, transport: new StdioClientTransport(how), call };
}

async function main() {
  const how = { command, args, env: { ...process.env }, stderr: 'inherit' };
  const { client, transport, call } = dialect === 'stateless' ? stateless(how) : handshake(how);
  client.onerror = (error) => say({ complaint: String(error) });
  await client.connect(transport);
  say({ ready: client.getServerVersion(), instructions: client.getInstructions(), capabilities: client.getServerCapabilities(), protocol: client.getNegotiatedProtocolVersion?.() ?? null });
  const pending = new Map();
  const stops = new Map();
  const run = (key, promise) => {
    const done = promise.then((result) => say({ key, result }), (error) => say({ key, error: String(error) }));
    pending.set(key, done);
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { op, key, of, name, arguments: given, progress } = JSON.parse(line);
    if (op === 'tools') {
      run(key, client.listTools());
    } else if (op === 'call') {
      const stop = new AbortController();
      stops.set(key, stop);
      const options = { signal: stop.signal, timeout: TIMEOUT };
      if (progress) options.onprogress = (word) => say({ key, progress: word });
      run(key, call({ name, arguments: given }, options));
    } else if (op === 'cancel') {
      stops.get(of).abort('not needed any more');
    } else if (op === 'await') {
      await pending.get(of);
    }
  }
  await Promise.all(pending.values());
  await client.close();
}

main().then(() => process.exit(0), (error) => {
  say({ broken: String(error) });
  process.exit(1);
});
