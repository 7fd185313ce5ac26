// The client of the official JavaScript SDK, driven through every operation against some A2A server.
//
// Use: node client.mjs --packages FOLDER --card URL --binding JSONRPC|HTTP+JSON [--peer NAME]
// The card is fetched below URL by the SDK's resolver, and the SDK chooses the interface. Every step
// prints one line of JSON, {"step": …, "ok": true|false, …facts}; exit code 0: all are ok. What the
// server does is chosen by the ids of the messages (see server.mjs). `--peer` names a server whose
// known faults (DEVIATIONS) are expected instead of the right answers.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: Object.fromEntries(['packages', 'card', 'binding', 'peer'].map((name) => [name, { type: 'string' }])),
});
// The packages are not beside this file but where install.sh put them.
const load = createRequire(resolve(options.packages, 'package.json'));
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
  load('@a2a-js/sdk/client');
const {
  A2A_PROTOCOL_VERSION,
  A2A_VERSION_HEADER,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  Role,
  SendMessageRequest,
  SubscribeToTaskRequest,
  TaskPushNotificationConfig,
  taskStateToJSON,
} = load('@a2a-js/sdk');
const { PushNotificationNotSupportedError, TaskNotCancelableError, TaskNotFoundError } = load('@a2a-js/sdk/errors');

const STEP_MS = 15_000;
const UNKNOWN = 'no-such-task';

// The steps in which a named server is known not to do what is right, and how each of them fails then.
const DEVIATIONS = {
  // It takes a second cancel as done; an ended task cannot be cancelled, says the specification.
  'js-1.3.0': { 'cancel-again': 'no TaskNotCancelableError, but' },
};

/** Filled by the step `card`. */
let client;
/** What went over the wire: a URL and headers each. */
const asked = [];

const noted = (url, init) => {
  asked.push({ url: String(url), headers: new Headers(init?.headers) });
  return fetch(url, init);
};

function require(holds, what) {
  if (!holds) throw new Error(what);
}

function equal(found, wanted, what) {
  require(isDeepStrictEqual(found, wanted), `${what}: ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}

/** The SDK's own type of error, mapped from what was on the wire. */
async function refused(Wanted, call) {
  let result;
  try {
    result = await call();
  } catch (error) {
    require(error instanceof Wanted, `another error than ${Wanted.name}: ${error}`);
    return { error: error.constructor.name, message: error.message };
  }
  throw new Error(`no ${Wanted.name}, but ${JSON.stringify(result).slice(0, 300)}`);
}

const state = ({ status }) => taskStateToJSON(status.state).replace('TASK_STATE_', '');
const kind = (part) => part.content?.$case;
const texts = (parts) => parts.map((part) => (kind(part) === 'text' ? part.content.value : '')).join('');

function request(prefix, configuration, { text = 'A task for the script', ...fields } = {}) {
  const messageId = `${prefix}-${crypto.randomUUID().slice(0, 8)}`;
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...fields };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** The single answer of SendMessage: a task or a message. */
const send = (prefix, configuration, fields) => client.sendMessage(request(prefix, configuration, fields), within());
const get = (id, how = {}) => client.getTask(GetTaskRequest.fromJSON({ id, ...how }), within());
const cancel = (id) => client.cancelTask(CancelTaskRequest.fromJSON({ id }), within());
const subscribe = (id) => client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }), within());

/** Ends what a step left open, when its time is over. */
const within = () => ({ signal: AbortSignal.timeout(STEP_MS) });

async function task(prefix, wanted, fields) {
  const answer = await send(prefix, undefined, fields);
  require(answer.status, `no task: ${JSON.stringify(answer)}`);
  equal(state(answer), wanted, 'state');
  require(answer.id && answer.contextId, 'a task has an id and a context');
  return answer;
}

const stream = (prefix) => collect(client.sendMessageStream(request(prefix), within()));

async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

function firstPart({ artifacts }) {
  require(artifacts.length > 0, 'no artifact');
  require(artifacts[0].artifactId, 'an artifact has an id');
  return artifacts[0].parts[0];
}

function namedFile(part) {
  equal([part.filename, part.mediaType], ['output.txt', 'text/plain'], 'filename and mediaType');
}

/** A stream in words: `task SUBMITTED`, `status WORKING`, `artifact`, … */
const story = (events) =>
  events.map(({ payload: { $case, value } }) => {
    if ($case === 'task') return `task ${state(value)}`;
    return $case === 'statusUpdate' ? `status ${state(value)}` : $case.replace('Update', '');
  });

/** The task first, then working, then something made, and completed as the very last. */
function inOrder(told) {
  require(told[0]?.startsWith('task '), `the task does not come first: ${told}`);
  const working = told.findIndex((line) => line.endsWith(' WORKING'));
  require(working >= 0 && told.includes('artifact', working), `no artifact after WORKING: ${told}`);
  equal(told.at(-1), 'status COMPLETED', 'the last event');
  equal(told.filter((line) => line.endsWith(' COMPLETED')).length, 1, 'completed so many times');
}

/** The artifacts that the updates of a stream add up to, as texts. */
function fold(events) {
  const made = {};
  for (const { payload } of events) {
    if (payload.$case !== 'artifactUpdate') continue;
    const { artifact, append } = payload.value;
    made[artifact.artifactId] = (append ? (made[artifact.artifactId] ?? '') : '') + texts(artifact.parts);
  }
  return made;
}

const steps = {
  async card() {
    const how = { fetchImpl: noted };
    const card = await new DefaultAgentCardResolver(how).resolve(options.card);
    const found = new Map(card.supportedInterfaces.map((entry) => [entry.protocolBinding, entry]));
    require(found.has(options.binding), `not declared: ${options.binding}`);
    equal(found.get(options.binding).protocolVersion, '1.0', 'protocolVersion');
    require(card.capabilities?.streaming, 'streaming is not declared');
    require(!card.capabilities.pushNotifications, 'push notifications are declared');
    require(card.name && card.skills.length > 0, 'a card has a name and skills');
    const transports = [new JsonRpcTransportFactory(how), new RestTransportFactory(how)];
    const preferredTransports = [options.binding];
    const choices = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports, preferredTransports });
    client = await new ClientFactory(choices).createFromAgentCard(card);
    equal(client.transport.protocolName, options.binding, 'binding chosen');
    return { name: card.name, bindings: [...found.keys()] };
  },

  async send() {
    asked.length = 0;
    const { status } = await task('tck-complete-task', 'COMPLETED');
    equal(texts(status.message.parts), 'Hello from TCK', 'status message');
    equal(status.message.role, Role.ROLE_AGENT, 'role');
    // The wire, not the SDK's word: the binding that was asked for, and its version.
    equal(asked.length, 1, 'requests');
    const [{ url, headers }] = asked;
    equal(url.endsWith('/message:send') ? 'HTTP+JSON' : 'JSONRPC', options.binding, 'binding used');
    equal(headers.get(A2A_VERSION_HEADER), '1.0', 'A2A-Version');
    return { url };
  },

  async 'artifact-text'() {
    const part = firstPart(await task('tck-artifact-text', 'COMPLETED'));
    equal(part.content, { $case: 'text', value: 'Generated text content' }, 'part');
  },

  async 'artifact-file'() {
    const part = firstPart(await task('tck-artifact-file', 'COMPLETED'));
    equal(kind(part), 'raw', 'kind of part');
    namedFile(part);
    require(part.content.value.length > 0, 'an empty file');
    return { bytes: part.content.value.length };
  },

  async 'artifact-file-url'() {
    const part = firstPart(await task('tck-artifact-file-url', 'COMPLETED'));
    equal(part.content, { $case: 'url', value: 'https://example.com/output.txt' }, 'part');
    namedFile(part);
  },

  async 'artifact-data'() {
    const part = firstPart(await task('tck-artifact-data', 'COMPLETED'));
    equal(part.content, { $case: 'data', value: { key: 'value', count: 42 } }, 'part');
  },

  async 'direct-message'() {
    const answer = await send('tck-message-response');
    require(answer.messageId, `no message: ${JSON.stringify(answer)}`);
    equal(texts(answer.parts), 'Direct message response', 'text');
    equal(answer.role, Role.ROLE_AGENT, 'role');
  },

  async stream() {
    const events = await stream('tck-stream-001');
    const told = story(events);
    inOrder(told);
    const ids = new Set(events.map(({ payload: { value } }) => value.taskId ?? value.id));
    equal([...ids], [events[0].payload.value.id], 'tasks in the stream');
    return { events: told };
  },

  async 'stream-chunked'() {
    const events = await stream('tck-stream-artifact-chunked');
    const told = story(events);
    inOrder(told);
    // Chunks may be put together on their way; what they add up to may not differ.
    const made = fold(events);
    equal(Object.values(made), ['chunk-1 chunk-2'], 'chunks');
    const { artifacts } = await get(events[0].payload.value.id);
    const stored = Object.fromEntries(artifacts.map(({ artifactId, parts }) => [artifactId, texts(parts)]));
    equal(stored, made, 'the stored task');
    return { events: told };
  },

  async 'follow-up'() {
    const { id, contextId } = await task('tck-input-required', 'INPUT_REQUIRED');
    // By taskId alone: the context is that of the task, at every turn.
    const again = await task('tck-input-required', 'INPUT_REQUIRED', { taskId: id });
    const done = await task('tck-complete-task', 'COMPLETED', { taskId: id });
    equal([again.id, done.id], [id, id], 'task');
    equal([again.contextId, done.contextId], [contextId, contextId], 'context');
  },

  async 'return-immediately'() {
    const answer = await send('test-resubscribe-message-id', { returnImmediately: true });
    require(['SUBMITTED', 'WORKING'].includes(state(answer)), `it is ${state(answer)} already`);
    // Returned at once, and yet it goes on to its end.
    const told = story(await collect(subscribe(answer.id)));
    equal(told.at(-1), 'status COMPLETED', 'the last event');
    return { state: state(answer), events: told };
  },

  async get() {
    const { id } = await task('tck-input-required', 'INPUT_REQUIRED');
    await task('tck-complete-task', 'COMPLETED', { taskId: id, text: 'The second message' });
    const whole = await get(id);
    equal([whole.id, state(whole)], [id, 'COMPLETED'], 'task');
    const none = await get(id, { historyLength: 0 });
    const one = await get(id, { historyLength: 1 });
    equal([none.history.length, one.history.length], [0, 1], 'lengths of history');
    return { history: whole.history.length };
  },

  async 'list-tasks'() {
    const contextId = `context-${crypto.randomUUID()}`;
    const sent = [];
    for (let count = 0; count < 2; count += 1) sent.push(await task('tck-artifact-text', 'COMPLETED', { contextId }));
    equal(sent.map((one) => one.contextId), [contextId, contextId], 'the context given');
    const page = async (pageToken) => {
      const asking = ListTasksRequest.fromJSON({ contextId, pageSize: 1, pageToken });
      const answer = await client.listTasks(asking, within());
      equal([answer.tasks.length, answer.pageSize, answer.totalSize], [1, 1, 2], 'tasks, pageSize, totalSize');
      equal(answer.tasks[0].artifacts, [], 'artifacts that were not asked for');
      return answer;
    };
    const first = await page('');
    require(first.nextPageToken, 'no second page');
    const second = await page(first.nextPageToken);
    equal(second.nextPageToken, '', 'nextPageToken of the last page');
    const [newer, older] = [first.tasks[0], second.tasks[0]];
    equal([newer.id, older.id].sort(), sent.map(({ id }) => id).sort(), 'tasks');
    require(Date.parse(newer.status.timestamp) >= Date.parse(older.status.timestamp), 'the newest does not come first');
  },

  async cancel() {
    const { id } = await task('tck-input-required', 'INPUT_REQUIRED');
    const cancelled = await cancel(id);
    equal([cancelled.id, state(cancelled)], [id, 'CANCELED'], 'what cancel returned');
    equal(state(await get(id)), 'CANCELED', 'what is stored');
  },

  async 'cancel-again'() {
    const { id } = await task('tck-input-required', 'INPUT_REQUIRED');
    await cancel(id);
    return refused(TaskNotCancelableError, () => cancel(id));
  },

  async 'cancel-completed'() {
    const { id } = await task('tck-complete-task', 'COMPLETED');
    return refused(TaskNotCancelableError, () => cancel(id));
  },

  async subscribe() {
    const { id } = await task('tck-input-required', 'INPUT_REQUIRED');
    const events = [];
    for await (const event of subscribe(id)) {
      events.push(event);
      // The snapshot is here, so the stream is open: now somebody answers, from the side.
      if (events.length === 1) await task('tck-complete-task', 'COMPLETED', { taskId: id });
    }
    const told = story(events);
    equal(told[0], 'task INPUT_REQUIRED', 'the snapshot');
    equal(events[0].payload.value.id, id, 'task');
    equal(told.at(-1), 'status COMPLETED', 'the last event');
    return { events: told };
  },

  'get-unknown': () => refused(TaskNotFoundError, () => get(UNKNOWN)),

  async 'push-config'() {
    const { id } = await task('tck-input-required', 'INPUT_REQUIRED');
    const config = TaskPushNotificationConfig.fromJSON({ taskId: id, url: 'https://example.com/hook' });
    // The client looks at the card and refuses by itself (SDK 1.3.0), so its transport has to ask the
    // server; the client would have added the version.
    const serviceParameters = { [A2A_VERSION_HEADER]: A2A_PROTOCOL_VERSION };
    return refused(PushNotificationNotSupportedError, () =>
      client.transport.createTaskPushNotificationConfig(config, { ...within(), serviceParameters }),
    );
  },

  'send-unknown': () => refused(TaskNotFoundError, () => send('tck-complete-task', undefined, { taskId: UNKNOWN })),
};

async function runOne(step, run) {
  let told = { step, ok: true };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${STEP_MS} ms`)), STEP_MS);
  });
  try {
    told = { ...told, ...(await Promise.race([run(), late])) };
  } catch (error) {
    told = { ...told, ok: false, error: error.constructor.name, message: String(error.message).slice(0, 1000) };
  } finally {
    clearTimeout(timer);
  }
  const fault = DEVIATIONS[options.peer]?.[step];
  // That very fault, or its entry must go.
  if (fault) told = { ...told, ok: !told.ok && told.message.startsWith(fault), deviation: options.peer };
  console.log(JSON.stringify(told));
  return told.ok;
}

let ok = true;
for (const [step, run] of Object.entries(steps)) {
  ok = (await runOne(step, run)) && ok;
  // Without a card there is nobody to talk to.
  if (!client) break;
}
// Whatever a step that ran out of time has left open ends here.
process.exit(ok ? 0 : 1);
