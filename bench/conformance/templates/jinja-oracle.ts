import { spawnSync } from "node:child_process";

/** A rendering: the text, or the reason why there is none. */
export type Rendering = { text: string } | { refused: string } | { failed: string };

export interface OracleJob {
  template: string;
  variables: Record<string, unknown>;
}

const WITHIN_MS = 300_000;
const MOST_BYTES = 2 ** 30;

/**
 * Renders by Jinja2 as transformers sets it up. Its sandbox forbids methods that change a list; a template that needs them is
 * rendered again by the sandbox that allows them, as other servers do.
 */
const PROGRAM = `
import json, sys, datetime
import jinja2, jinja2.ext
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

job = json.load(sys.stdin)
now = datetime.datetime.fromtimestamp(job["now"])

class Refusal(Exception):
    pass

def refuse(message):
    raise Refusal(message)

def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()

def environment(kind):
    made = kind(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = lambda form: now.strftime(form)
    return made

environments = [environment(ImmutableSandboxedEnvironment), environment(SandboxedEnvironment)]
compiled = {}

def render(source, variables):
    if source not in compiled:
        compiled[source] = [each.from_string(source) for each in environments]
    strict, lax = compiled[source]
    try:
        return strict.render(**variables)
    except jinja2.exceptions.SecurityError:
        return lax.render(**variables)

results = []
for one in job["jobs"]:
    try:
        results.append({"text": render(one["template"], one["variables"])})
    except Refusal as error:
        results.append({"refused": str(error)})
    except Exception as error:
        results.append({"failed": type(error).__name__ + ": " + str(error)})
json.dump(results, sys.stdout)
`;

/** The renderings of Python's Jinja2; null, with the reason on standard error, where python3 with jinja2 is not found. */
export function renderByJinja2(jobs: readonly OracleJob[], now: Date): Rendering[] | null {
  const found = spawnSync("python3", ["-c", "import jinja2"], { encoding: "utf8", timeout: WITHIN_MS });
  if (found.status !== 0) {
    process.stderr.write("Skipped: the comparison with Jinja2, for python3 has no package jinja2 here.\n");
    return null;
  }
  const input = JSON.stringify({ jobs, now: now.getTime() / 1000 });
  const limits = { timeout: WITHIN_MS, maxBuffer: MOST_BYTES };
  const { status, stdout, stderr } = spawnSync("python3", ["-c", PROGRAM], { input, encoding: "utf8", ...limits });
  if (status !== 0) throw new Error(`Jinja2 failed: ${stderr}`);
  return JSON.parse(stdout) as Rendering[];
}
