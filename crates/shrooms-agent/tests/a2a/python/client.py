"""The client of the official Python SDK, driven through every operation against some A2A server.

Use: python client.py --card URL --binding JSONRPC|HTTP+JSON [--peer NAME]
The card is fetched below URL by the SDK's resolver, and the SDK chooses the interface. Every step
prints one line of JSON, {"step": …, "ok": true|false, …facts}; exit code 0: all are ok. What the
server does is chosen by the ids of the messages (see server.py). `--peer` names a server whose
known faults (DEVIATIONS) are expected instead of the right answers.
"""

import argparse
import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
)
from google.protobuf.json_format import MessageToDict

STEP_SECONDS = 15
BINDINGS = ["JSONRPC", "HTTP+JSON"]
UNKNOWN = "no-such-task"

# The steps in which a named server is known not to do what is right, and how each of them fails then.
DEVIATIONS = {
    # It takes a second cancel as done; an ended task cannot be cancelled, says the specification.
    "js-1.3.0": {"cancel-again": "no TaskNotCancelableError, but"},
}

STEPS = []


def step(run):
    STEPS.append((run.__name__.replace("_", "-"), run))
    return run


def require(holds, what):
    """An assert that stays under `python -O` and says what was there instead."""
    if not holds:
        raise AssertionError(what)


def equal(found, wanted, what):
    require(found == wanted, f"{what}: {found!r}, wanted {wanted!r}")


async def refused(error, call):
    """The SDK's own type of error, mapped from what was on the wire."""
    try:
        result = await call
    except error as told:
        return {"error": type(told).__name__, "message": str(told)}
    raise AssertionError(f"no {error.__name__}, but {str(result)[:300]!r}")


def state(task_or_update):
    return TaskState.Name(task_or_update.status.state).removeprefix("TASK_STATE_")


def texts(parts):
    return "".join(part.text for part in parts)


class Driver:
    def __init__(self, options):
        self.options = options
        self.asked = []
        # No proxy from the environment: the server is on this machine.
        self.http = httpx.AsyncClient(
            timeout=STEP_SECONDS, trust_env=False, event_hooks={"request": [self.note]}
        )
        self.card = self.plain = self.streaming = None

    async def note(self, request):
        self.asked.append(request)

    async def connect(self):
        self.card = await A2ACardResolver(self.http, self.options.card).get_agent_card()
        first = self.options.binding
        order = [first, *(other for other in BINDINGS if other != first)]
        # One client that waits for answers and one that streams: the SDK decides by its configuration.
        self.plain, self.streaming = (
            ClientFactory(
                ClientConfig(
                    streaming=streams,
                    httpx_client=self.http,
                    supported_protocol_bindings=order,
                    use_client_preference=True,
                )
            ).create(self.card)
            for streams in (False, True)
        )

    def message(self, prefix, text="A task for the script", **fields):
        return Message(
            message_id=f"{prefix}-{uuid.uuid4().hex[:8]}",
            role=Role.ROLE_USER,
            parts=[Part(text=text)],
            **fields,
        )

    async def send(self, prefix, configuration=None, **fields):
        """The single answer of SendMessage."""
        request = SendMessageRequest(message=self.message(prefix, **fields))
        request.configuration.CopyFrom(SendMessageConfiguration(**configuration or {}))
        answers = [answer async for answer in self.plain.send_message(request)]
        equal(len(answers), 1, "answers")
        return answers[0]

    async def task(self, prefix, wanted, configuration=None, **fields):
        answer = await self.send(prefix, configuration, **fields)
        require(answer.HasField("task"), f"no task in the answer: {answer}")
        equal(state(answer.task), wanted, "state")
        require(answer.task.id and answer.task.context_id, "a task has an id and a context")
        return answer.task

    async def stream(self, prefix):
        request = SendMessageRequest(message=self.message(prefix))
        return [event async for event in self.streaming.send_message(request)]

    async def get(self, task, **fields):
        return await self.plain.get_task(GetTaskRequest(id=task, **fields))

    async def cancel(self, task):
        return await self.plain.cancel_task(CancelTaskRequest(id=task))


def first_part(task):
    require(task.artifacts, "no artifact")
    require(task.artifacts[0].artifact_id, "an artifact has an id")
    return task.artifacts[0].parts[0]


def named_file(part):
    equal(part.filename, "output.txt", "filename")
    equal(part.media_type, "text/plain", "mediaType")


def story(events):
    """A stream in words: `task SUBMITTED`, `status WORKING`, `artifact`, …"""
    told = []
    for event in events:
        kind = event.WhichOneof("payload")
        if kind == "task":
            told.append(f"task {state(event.task)}")
        elif kind == "status_update":
            told.append(f"status {state(event.status_update)}")
        else:
            told.append(kind.removesuffix("_update"))
    return told


def in_order(told):
    """The task first, then working, then something made, and completed as the very last."""
    require(told and told[0].startswith("task "), f"the task does not come first: {told}")
    working = next((at for at, line in enumerate(told) if line.endswith(" WORKING")), None)
    require(working is not None and "artifact" in told[working:], f"no artifact after WORKING: {told}")
    equal(told[-1], "status COMPLETED", "the last event")
    equal(sum(line.endswith(" COMPLETED") for line in told), 1, "completed so many times")


def fold(events):
    """The artifacts that the updates of a stream add up to, as texts."""
    made = {}
    for event in events:
        if event.WhichOneof("payload") == "artifact_update":
            update = event.artifact_update
            before = made.get(update.artifact.artifact_id, "") if update.append else ""
            made[update.artifact.artifact_id] = before + texts(update.artifact.parts)
    return made


@step
async def card(driver):
    await driver.connect()
    found = {entry.protocol_binding: entry for entry in driver.card.supported_interfaces}
    require(driver.options.binding in found, f"not declared: {driver.options.binding}")
    equal(found[driver.options.binding].protocol_version, "1.0", "protocolVersion")
    require(driver.card.capabilities.streaming, "streaming is not declared")
    require(not driver.card.capabilities.push_notifications, "push notifications are declared")
    require(driver.card.name and driver.card.skills, "a card has a name and skills")
    return {"name": driver.card.name, "bindings": list(found)}


@step
async def send(driver):
    driver.asked.clear()
    task = await driver.task("tck-complete-task", "COMPLETED")
    equal(texts(task.status.message.parts), "Hello from TCK", "status message")
    equal(task.status.message.role, Role.ROLE_AGENT, "role")
    # The wire, not the SDK's word: the binding that was asked for, and its version.
    (request,) = driver.asked
    rest = str(request.url).endswith("/message:send")
    equal("HTTP+JSON" if rest else "JSONRPC", driver.options.binding, "binding used")
    equal(request.headers.get("A2A-Version"), "1.0", "A2A-Version")
    return {"url": str(request.url)}


@step
async def artifact_text(driver):
    part = first_part(await driver.task("tck-artifact-text", "COMPLETED"))
    equal(part.text, "Generated text content", "text")


@step
async def artifact_file(driver):
    part = first_part(await driver.task("tck-artifact-file", "COMPLETED"))
    equal(part.WhichOneof("content"), "raw", "kind of part")
    named_file(part)
    require(part.raw, "an empty file")
    return {"bytes": len(part.raw)}


@step
async def artifact_file_url(driver):
    part = first_part(await driver.task("tck-artifact-file-url", "COMPLETED"))
    equal(part.url, "https://example.com/output.txt", "url")
    named_file(part)


@step
async def artifact_data(driver):
    part = first_part(await driver.task("tck-artifact-data", "COMPLETED"))
    equal(MessageToDict(part.data), {"key": "value", "count": 42}, "data")


@step
async def direct_message(driver):
    answer = await driver.send("tck-message-response")
    require(answer.HasField("message"), f"no message: {answer}")
    equal(texts(answer.message.parts), "Direct message response", "text")
    equal(answer.message.role, Role.ROLE_AGENT, "role")


@step
async def stream(driver):
    events = await driver.stream("tck-stream-001")
    told = story(events)
    in_order(told)
    ids = {(e.task.id or e.status_update.task_id or e.artifact_update.task_id) for e in events}
    equal(ids, {events[0].task.id}, "tasks in the stream")
    return {"events": told}


@step
async def stream_chunked(driver):
    events = await driver.stream("tck-stream-artifact-chunked")
    told = story(events)
    in_order(told)
    # Chunks may be put together on their way; what they add up to may not differ.
    made = fold(events)
    equal(list(made.values()), ["chunk-1 chunk-2"], "chunks")
    stored = await driver.get(events[0].task.id)
    equal({a.artifact_id: texts(a.parts) for a in stored.artifacts}, made, "the stored task")
    return {"events": told}


@step
async def follow_up(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    # By taskId alone: the context is that of the task, at every turn.
    again = await driver.task("tck-input-required", "INPUT_REQUIRED", task_id=task.id)
    done = await driver.task("tck-complete-task", "COMPLETED", task_id=task.id)
    equal([again.id, done.id], [task.id] * 2, "task")
    equal([again.context_id, done.context_id], [task.context_id] * 2, "context")


@step
async def return_immediately(driver):
    answer = await driver.send("test-resubscribe-message-id", {"return_immediately": True})
    require(state(answer.task) in ("SUBMITTED", "WORKING"), f"it is {state(answer.task)} already")
    # Returned at once, and yet it goes on to its end.
    events = driver.streaming.subscribe(SubscribeToTaskRequest(id=answer.task.id))
    told = story([event async for event in events])
    equal(told[-1], "status COMPLETED", "the last event")
    return {"state": state(answer.task), "events": told}


@step
async def get(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    await driver.task("tck-complete-task", "COMPLETED", task_id=task.id, text="The second message")
    whole = await driver.get(task.id)
    equal([whole.id, state(whole)], [task.id, "COMPLETED"], "task")
    none, one = [await driver.get(task.id, history_length=length) for length in (0, 1)]
    equal([len(none.history), len(one.history)], [0, 1], "lengths of history")
    return {"history": len(whole.history)}


@step
async def list_tasks(driver):
    context = f"context-{uuid.uuid4()}"
    sent = [await driver.task("tck-artifact-text", "COMPLETED", context_id=context) for _ in range(2)]
    equal([task.context_id for task in sent], [context] * 2, "the context given")

    async def page(token=""):
        request = ListTasksRequest(context_id=context, page_size=1, page_token=token)
        answer = await driver.plain.list_tasks(request)
        equal([len(answer.tasks), answer.page_size, answer.total_size], [1, 1, 2], "tasks, pageSize, totalSize")
        equal(list(answer.tasks[0].artifacts), [], "artifacts that were not asked for")
        return answer

    first = await page()
    require(first.next_page_token, "no second page")
    second = await page(first.next_page_token)
    equal(second.next_page_token, "", "nextPageToken of the last page")
    newer, older = first.tasks[0], second.tasks[0]
    equal({newer.id, older.id}, {task.id for task in sent}, "tasks")
    times = [task.status.timestamp.ToNanoseconds() for task in (newer, older)]
    require(times[0] >= times[1], "the newest does not come first")


@step
async def cancel(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    cancelled = await driver.cancel(task.id)
    equal([cancelled.id, state(cancelled)], [task.id, "CANCELED"], "what cancel returned")
    equal(state(await driver.get(task.id)), "CANCELED", "what is stored")


@step
async def cancel_again(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    await driver.cancel(task.id)
    return await refused(TaskNotCancelableError, driver.cancel(task.id))


@step
async def cancel_completed(driver):
    task = await driver.task("tck-complete-task", "COMPLETED")
    return await refused(TaskNotCancelableError, driver.cancel(task.id))


@step
async def subscribe(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    events = []
    async for event in driver.streaming.subscribe(SubscribeToTaskRequest(id=task.id)):
        events.append(event)
        if len(events) == 1:
            # The snapshot is here, so the stream is open: now somebody answers, from the side.
            await driver.task("tck-complete-task", "COMPLETED", task_id=task.id)
    told = story(events)
    equal(told[0], "task INPUT_REQUIRED", "the snapshot")
    equal(events[0].task.id, task.id, "task")
    equal(told[-1], "status COMPLETED", "the last event")
    return {"events": told}


@step
async def get_unknown(driver):
    return await refused(TaskNotFoundError, driver.get(UNKNOWN))


@step
async def push_config(driver):
    task = await driver.task("tck-input-required", "INPUT_REQUIRED")
    config = TaskPushNotificationConfig(task_id=task.id, url="https://example.com/hook")
    return await refused(
        PushNotificationNotSupportedError, driver.plain.create_task_push_notification_config(config)
    )


@step
async def send_unknown(driver):
    return await refused(TaskNotFoundError, driver.send("tck-complete-task", task_id=UNKNOWN))


async def run_one(driver, name, run):
    told = {"step": name, "ok": True}
    try:
        told |= await asyncio.wait_for(run(driver), STEP_SECONDS) or {}
    except Exception as error:  # whatever it is, it is this step's failure
        told |= {"ok": False, "error": type(error).__name__, "message": str(error)[:1000]}
    fault = DEVIATIONS.get(driver.options.peer, {}).get(name)
    if fault:
        # That very fault, or its entry must go.
        as_known = not told["ok"] and told["message"].startswith(fault)
        told |= {"ok": as_known, "deviation": driver.options.peer}
    print(json.dumps(told), flush=True)
    return told["ok"]


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--card", required=True, help="the address below which the card is")
    parser.add_argument("--binding", required=True, choices=BINDINGS)
    parser.add_argument("--peer", choices=sorted(DEVIATIONS))
    driver = Driver(parser.parse_args())
    results = []
    for name, run in STEPS:
        results.append(await run_one(driver, name, run))
        if driver.plain is None:
            break  # without a card there is nobody to talk to
    await driver.http.aclose()
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
