"""A scripted agent on the server part of the official Python SDK, for tests of our own client.

JSON-RPC and HTTP+JSON on one loopback port, both declared by /.well-known/agent-card.json. What a
task does is chosen by the prefix of the message's id, as the official compatibility kit has it.

Use: python server.py [--port N] [--no-streaming]
Prints `listening PORT`, and ends when its stdin closes: a test that dies takes its server along.
"""

import argparse
import asyncio
import os
import socket
import sys
import threading

import uvicorn
from a2a.helpers.proto_helpers import (
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_part,
    new_url_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

ARTIFACT = "result"


async def complete(task):
    await task.complete(task.new_agent_message([new_text_part("Hello from TCK")]))


def with_artifact(part):
    """The result alone, then the end."""

    async def run(task):
        await task.add_artifact([part], artifact_id=ARTIFACT)
        await task.complete()

    return run


def streamed(*parts):
    """Working, the artifact in as many chunks as there are parts, then the end."""

    async def run(task):
        await task.start_work()
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            await task.add_artifact([part], artifact_id=ARTIFACT, append=number > 0, last_chunk=last)
        await task.complete()

    return run


async def long_work(task):
    await task.start_work()
    await asyncio.sleep(4)
    await task.complete()


async def work_until_cancelled(task):
    await task.start_work()
    # The SDK cancels this very coroutine, and then calls `cancel`.
    await asyncio.Event().wait()


FILE = {"filename": "output.txt", "media_type": "text/plain"}
RAW = new_raw_part(b"tck", **FILE)

# Longest first: `tck-artifact-file` is a prefix of `tck-artifact-file-url`.
SCRIPT = sorted(
    {
        "tck-complete-task": complete,
        "tck-artifact-text": with_artifact(new_text_part("Generated text content")),
        "tck-artifact-file": with_artifact(RAW),
        "tck-artifact-file-url": with_artifact(new_url_part("https://example.com/output.txt", **FILE)),
        "tck-artifact-data": with_artifact(new_data_part({"key": "value", "count": 42})),
        "tck-input-required": lambda task: task.requires_input(),
        "tck-reject-task": lambda task: task.reject(),
        "tck-stream-001": streamed(new_text_part("Stream hello from TCK")),
        "tck-stream-002": lambda task: task.complete(),
        "tck-stream-003": streamed(new_text_part("Stream task lifecycle")),
        "tck-stream-ordering-001": streamed(new_text_part("Ordered output")),
        "tck-stream-artifact-text": streamed(new_text_part("Streamed text content")),
        "tck-stream-artifact-file": streamed(RAW),
        "tck-stream-artifact-chunked": streamed(new_text_part("chunk-1 "), new_text_part("chunk-2")),
        "test-resubscribe-message-id": long_work,
        "slow-": work_until_cancelled,
    }.items(),
    key=lambda entry: -len(entry[0]),
)


class Scripted(AgentExecutor):
    async def execute(self, context, event_queue):
        known = context.current_task
        # SDK 1.3.0: a third message without a contextId gets an invented one here, which the SDK
        # then refuses; the task knows its own.
        task = TaskUpdater(event_queue, context.task_id, known.context_id if known else context.context_id)
        if context.message.message_id.startswith("tck-message-response"):
            await event_queue.enqueue_event(task.new_agent_message([new_text_part("Direct message response")]))
            return
        # A new task must be announced before anything is said of it; a follow-up finds it there.
        if known is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        await behaviour(context.message.message_id)(task)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def behaviour(message_id):
    for prefix, run in SCRIPT:
        if message_id.startswith(prefix):
            return run
    return complete


def card(base, streaming):
    urls = {"JSONRPC": f"{base}/", "HTTP+JSON": f"{base}/rest"}
    return AgentCard(
        name="Scripted agent (Python)",
        description="Does what the id of a message says",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
            for binding, url in urls.items()
        ],
        capabilities=AgentCapabilities(streaming=streaming, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="tck", name="Script", description="Follows the script", tags=["tck"])],
    )


def end_with_stdin():
    sys.stdin.buffer.read()
    # Open streams would hold up a gentle stop, and nobody reads them any more.
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--no-streaming", action="store_true")
    options = parser.parse_args()

    listener = socket.create_server(("127.0.0.1", options.port))
    port = listener.getsockname()[1]
    described = card(f"http://127.0.0.1:{port}", not options.no_streaming)
    handler = DefaultRequestHandler(
        agent_executor=Scripted(), task_store=InMemoryTaskStore(), agent_card=described
    )
    app = Starlette(
        routes=[
            *create_agent_card_routes(described, cache_control="public, max-age=60"),
            *create_jsonrpc_routes(handler, rpc_url="/"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
    threading.Thread(target=end_with_stdin, daemon=True).start()
    # The kernel queues connections from here on, so the port may be named before the loop runs.
    print(f"listening {port}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
