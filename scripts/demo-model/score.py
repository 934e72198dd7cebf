"""Scores a server's demo model by skill: fresh samples of the corpus, greedy, through the chat endpoint.

    python3 score.py http://127.0.0.1:8080/v1 [samples]
"""
import json
import random
import sys
import urllib.request

import corpus

SEED = 4242


def complete(base, messages, tools):
    body = {"model": "demo", "messages": messages, "temperature": 0, "max_tokens": 256}
    if tools:
        body["tools"] = tools
    request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def written(messages):
    """The dialogue as clients send it: arguments are JSON, and results name their call."""
    for i, message in enumerate(messages):
        if "tool_calls" in message:
            calls = [{"id": f"call_{i}", "type": "function", "function": {"name": c["function"]["name"], "arguments": json.dumps(c["function"]["arguments"])}} for c in message["tool_calls"]]
            yield {"role": "assistant", "content": None, "tool_calls": calls}
        elif message["role"] == "tool":
            yield {**message, "tool_call_id": f"call_{i - 1}"}
        else:
            yield message


def right(wanted, got):
    if "tool_calls" not in wanted:
        return got.get("content") == wanted["content"] and not got.get("tool_calls")
    calls = [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in got.get("tool_calls") or []]
    return calls == [(c["function"]["name"], c["function"]["arguments"]) for c in wanted["tool_calls"]]


def score(base, skill, samples, rng):
    good, wrong = 0, []
    while good + len(wrong) < samples:
        messages, tools = skill(rng)
        *asked, wanted = messages
        got = complete(base, list(written(asked)), tools)
        if skill is corpus.story:  # no one story is right: it must begin, and end
            good_one = got["content"].startswith("Once upon a time") and got["content"].endswith("The end.")
        else:
            good_one = right(wanted, got)
        if good_one:
            good += 1
        else:
            wrong.append((asked[-1].get("content"), got.get("content") or got.get("tool_calls"), wanted.get("content") or wanted.get("tool_calls")))
    return good, wrong


def calling(rng):
    messages, tools = corpus.tool(rng)
    return messages[:2], tools


def answering(write):
    """Answers from tool results that are written in one way."""
    def sample(rng):
        while True:
            messages, tools = corpus.tool(rng)
            if len(messages) == 4:
                break
        return messages, tools

    def with_result(rng):
        original, corpus.tool_result = corpus.tool_result, lambda r, result: write(result)
        try:
            return sample(rng)
        finally:
            corpus.tool_result = original
    return with_result


if __name__ == "__main__":
    base, samples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    rng = random.Random(SEED)
    skills = {skill.__name__: skill for skill, _ in corpus.SKILLS if skill is not corpus.tool}
    skills["tool call"] = calling
    skills["result, json.dumps"] = answering(json.dumps)
    skills["result, compact JSON"] = answering(lambda result: json.dumps(result, separators=(",", ":")))
    skills["result, indented JSON"] = answering(lambda result: json.dumps(result, indent=2))
    skills["result, bare value"] = answering(lambda result: str(list(result.values())[-1]))
    for name, skill in skills.items():
        good, wrong = score(base, skill, samples, rng)
        print(f"{name}: {good} of {samples}", *(f"\n    {w}" for w in wrong[:2]), flush=True)
