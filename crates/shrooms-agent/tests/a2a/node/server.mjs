// A scripted agent on the server part of the official JavaScript SDK, for tests of our own client.
//
// JSON-RPC and HTTP+JSON on one loopback port, both declared by /.well-known/agent-card.json. What a
// task does is chosen by the prefix of the message's id, as the official compatibility kit has it.
//
// Use: node server.mjs --packages FOLDER [--port N] [--no-streaming]
// Prints `listening PORT`, and ends when its stdin closes: a test that dies takes its server along.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    packages: { type: 'string' },
    port: { type: 'string', default: '0' },
    'no-streaming': { type: 'boolean', default: false },
  },
});
// The packages are not beside this file but where install.sh put them.
const load = createRequire(resolve(options.packages, 'package.json'));
const express = load('express');
const { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } = load('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = load('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } = load('@a2a-js/sdk/server/express');

const ARTIFACT = 'result';

/** What is said of one task, in the words of the wire. */
class Updater {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, taskId, contextId });
  }

  message(text) {
    const { taskId, contextId } = this;
    return { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: [{ text }], taskId, contextId };
  }

  status(state, message) {
    const status = { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
    const { taskId, contextId } = this;
    this.bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
  }

  artifact(part, how = {}) {
    const { taskId, contextId } = this;
    const artifact = { artifactId: ARTIFACT, parts: [part] };
    const update = TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, ...how });
    this.bus.publish(AgentEvent.artifactUpdate(update));
  }
}

const complete = (task) => task.status('COMPLETED', task.message('Hello from TCK'));

/** The result alone, then the end. */
const withArtifact = (part) => (task) => {
  task.artifact(part);
  task.status('COMPLETED');
};

/** Working, the artifact in as many chunks as there are parts, then the end. */
const streamed = (...parts) => (task) => {
  task.status('WORKING');
  parts.forEach((part, number) => {
    task.artifact(part, { append: number > 0, lastChunk: number === parts.length - 1 });
  });
  task.status('COMPLETED');
};

const longWork = async (task) => {
  task.status('WORKING');
  await wait(4000);
  task.status('COMPLETED');
};

const workUntilCancelled = (task, cancelled) => {
  task.status('WORKING');
  return cancelled;
};

const FILE = { filename: 'output.txt', mediaType: 'text/plain' };
const RAW = { raw: btoa('tck'), ...FILE };

// Longest first: `tck-artifact-file` is a prefix of `tck-artifact-file-url`.
const SCRIPT = Object.entries({
  'tck-complete-task': complete,
  'tck-artifact-text': withArtifact({ text: 'Generated text content' }),
  'tck-artifact-file': withArtifact(RAW),
  'tck-artifact-file-url': withArtifact({ url: 'https://example.com/output.txt', ...FILE }),
  'tck-artifact-data': withArtifact({ data: { key: 'value', count: 42 } }),
  'tck-input-required': (task) => task.status('INPUT_REQUIRED'),
  'tck-reject-task': (task) => task.status('REJECTED'),
  'tck-stream-001': streamed({ text: 'Stream hello from TCK' }),
  'tck-stream-002': (task) => task.status('COMPLETED'),
  'tck-stream-003': streamed({ text: 'Stream task lifecycle' }),
  'tck-stream-ordering-001': streamed({ text: 'Ordered output' }),
  'tck-stream-artifact-text': streamed({ text: 'Streamed text content' }),
  'tck-stream-artifact-file': streamed(RAW),
  'tck-stream-artifact-chunked': streamed({ text: 'chunk-1 ' }, { text: 'chunk-2' }),
  'test-resubscribe-message-id': longWork,
  'slow-': workUntilCancelled,
}).sort(([one], [other]) => other.length - one.length);

const behaviour = (messageId) => SCRIPT.find(([prefix]) => messageId.startsWith(prefix))?.[1] ?? complete;

class Scripted {
  /** By task: its context, and what ends its work. */
  running = new Map();

  async execute({ taskId, contextId, userMessage, task: known }, bus) {
    const task = new Updater(bus, taskId, contextId);
    if (userMessage.messageId.startsWith('tck-message-response')) {
      bus.publish(AgentEvent.message(Message.fromJSON(task.message('Direct message response'))));
      return;
    }
    const cancelled = new Promise((cancel) => this.running.set(taskId, { contextId, cancel }));
    // A new task must be announced before anything is said of it; a follow-up finds it there.
    if (!known) {
      const status = { state: 'TASK_STATE_SUBMITTED', timestamp: new Date().toISOString() };
      const history = [Message.toJSON(userMessage)];
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status, history })));
    }
    await behaviour(userMessage.messageId)(task, cancelled);
  }

  async cancelTask(taskId, bus) {
    const { contextId, cancel } = this.running.get(taskId);
    new Updater(bus, taskId, contextId).status('CANCELED');
    cancel();
  }
}

function card(base, streaming) {
  const urls = Object.entries({ JSONRPC: `${base}/`, 'HTTP+JSON': `${base}/rest` });
  return AgentCard.fromJSON({
    name: 'Scripted agent (JavaScript)',
    description: 'Does what the id of a message says',
    version: '1.0.0',
    supportedInterfaces: urls.map(([protocolBinding, url]) => ({ url, protocolBinding, protocolVersion: '1.0' })),
    capabilities: { streaming, pushNotifications: false, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'tck', name: 'Script', description: 'Follows the script', tags: ['tck'] }],
  });
}

const app = express();
const server = app.listen(Number(options.port), '127.0.0.1', (error) => {
  if (error) throw error;
  const { port } = server.address();
  const described = card(`http://127.0.0.1:${port}`, !options['no-streaming']);
  const requestHandler = new DefaultRequestHandler(described, new InMemoryTaskStore(), new Scripted());
  const how = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  const cached = { agentCardProvider: requestHandler, cache: { maxAge: 60 } };
  app.use('/.well-known/agent-card.json', agentCardHandler(cached));
  app.use('/rest', restHandler(how));
  // The last, as it takes every path.
  app.use('/', jsonRpcHandler(how));
  console.log(`listening ${port}`);
});
process.stdin.resume().on('end', () => process.exit(0));
