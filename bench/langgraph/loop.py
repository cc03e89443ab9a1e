"""The model-tool loop of the benchmark, on LangGraph with its SQLite checkpointer.

usage: loop.py DIR ROUNDS BYTES

A model node answers with a text of BYTES and one tool call, a tool node with a
text of BYTES, until ROUNDS rounds are done. Every super-step is durable before
the next begins (durability="sync"), on a database in WAL mode that syncs every
commit, as Bowline's does. Prints one JSON object.
"""

import json
import os
import random
import sqlite3
import sys
import time
from importlib.metadata import version
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

PACKAGES = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langchain-core")
LETTERS = "abcdefghijklmnopqrstuvwxyz     "


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def build(rounds: int, size: int) -> StateGraph:
    chance = random.Random(7)

    def text() -> str:
        return "".join(chance.choices(LETTERS, k=size))

    def model(state: State) -> State:
        done = (len(state["messages"]) - 1) // 2
        if done >= rounds:
            return {"messages": [AIMessage(content="done")]}
        call = {"name": "look", "args": {"at": done}, "id": f"call-{done}"}
        return {"messages": [AIMessage(content=text(), tool_calls=[call])]}

    def tool(state: State) -> State:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(content=text(), tool_call_id=call["id"])]}

    def next_node(state: State) -> str:
        return "tool" if state["messages"][-1].tool_calls else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_node, ["tool", END])
    graph.add_edge("tool", "model")
    return graph


def main() -> None:
    folder, rounds, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    path = os.path.join(folder, "langgraph.db")
    conn = sqlite3.connect(path, check_same_thread=False)
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=FULL")
    saver = SqliteSaver(conn)
    saver.setup()
    graph = build(rounds, size).compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 2 * rounds + 10}
    start = time.perf_counter()
    last = graph.invoke({"messages": [HumanMessage("Do it")]}, config, durability="sync")
    seconds = time.perf_counter() - start
    assert len(last["messages"]) == 2 * rounds + 2, "the loop did not run to its end"
    assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert conn.execute("PRAGMA synchronous").fetchone() == (2,)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()
    versions = {name: version(name) for name in PACKAGES}
    versions["python"] = sys.version.split()[0]
    versions["sqlite"] = sqlite3.sqlite_version
    print(json.dumps({"seconds": seconds, "bytes": os.path.getsize(path), "versions": versions}))


if __name__ == "__main__":
    main()
