"""A loop that asks before it acts: each call is guarded by `bowline guard`."""
import json, subprocess

guard = subprocess.Popen(["bowline", "guard", "--max-tool-calls", "20"], stdin=-1, stdout=-1, text=True)

def tell(**event):
    print(json.dumps(event), file=guard.stdin, flush=True)
    return json.loads(guard.stdout.readline())

for path in ["a.py", "b.py", "a.py", "c.py"]:  # what a model asks for
    answer = tell(event="tool_call", tool="read_file", args={"path": path}, effect="read")
    if answer["verdict"] in ("continue", "warn"):
        tell(event="tool_result", tool="read_file", output=f"the text of {path}", ok=True)
    print(path, answer["verdict"], answer.get("reason", ""))
