"""A coordinator and agents as separate processes on this machine, for the benchmarks."""
import datetime
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "bazel-bin")
DEADLINE_S = 120


def wait_for(what, condition, period_s=0.01):
    """Polls `condition` until it gives something true, which is returned."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(period_s)
    raise SystemExit(f"benchmark: gave up after {DEADLINE_S} s waiting for {what}")


def seconds(timestamp):
    """Unix seconds of a protobuf JSON timestamp."""
    stamp = timestamp.rstrip("Z")
    whole, _, fraction = stamp.partition(".")
    base = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc).timestamp()
    return base + (float("0." + fraction) if fraction else 0.0)


class Cluster:
    def __init__(self, lease="3s"):
        self.dir = tempfile.mkdtemp(prefix="muster-bench-")
        self.lease = lease
        self.address = None
        self.coordinator = None

    def __enter__(self):
        self.start_coordinator()
        return self

    def __exit__(self, *_):
        self._kill(f"MUSTER_BENCH={self.dir}")
        shutil.rmtree(self.dir, ignore_errors=True)

    def _spawn(self, name, args, **env):
        with open(os.path.join(self.dir, name + ".log"), "ab") as log:
            return subprocess.Popen(args, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                    env={**os.environ, "MUSTER_BENCH": self.dir, **env})

    def _pids(self, entry):
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    if entry.encode() in f.read().split(b"\0"):
                        found.append(int(path.split("/")[2]))
            except OSError:
                pass
        return [p for p in found if p != os.getpid()]

    def _kill(self, entry, sig=signal.SIGKILL):
        """Returns the time at which the first signal was sent."""
        pids = self._pids(entry)
        at = time.time()
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        return at

    def start_coordinator(self):
        port_file = os.path.join(self.dir, "port")
        if os.path.exists(port_file):
            os.remove(port_file)
        self.coordinator = self._spawn("coordinator", [
            f"{BIN}/coordinator/muster-coordinator", "--listen", self.address or "127.0.0.1:0",
            "--data_dir", f"{self.dir}/coordinator", "--port_file", port_file, "--lease", self.lease])
        wait_for("the coordinator's port", lambda: os.path.exists(port_file), 0.002)
        with open(port_file, encoding="utf-8") as f:
            self.address = "127.0.0.1:" + f.read().strip()

    def kill_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()

    def start_node(self, node):
        self._spawn(node, [
            f"{BIN}/agent/muster-agent", "--coordinator", self.address, "--node_id", node, "--address", "127.0.0.1",
            "--state_dir", f"{self.dir}/{node}", "--cpu_slots", "1", "--worker", f"{BIN}/worker/muster-worker",
            "--shim", f"{BIN}/agent/shim/muster-shim"], MUSTER_BENCH_NODE=f"{self.dir}/{node}")

    def kill_node(self, node, sig=signal.SIGKILL):
        return self._kill(f"MUSTER_BENCH_NODE={self.dir}/{node}", sig)

    def ctl(self, *args):
        done = subprocess.run([f"{BIN}/tools/musterctl/musterctl", "--coordinator", self.address, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"benchmark: musterctl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *args):
        return json.loads(self.ctl(*args, "--json"))

    def ready_nodes(self):
        return sum(n["state"] == "NODE_READY" for n in self.json("nodes").get("nodes", []))

    def pack_data(self):
        self.ctl("data", "pack", "/usr/share/common-licenses", "-o", f"{self.dir}/data", "--val-fraction", "0.1")

    def submit(self, name, nodes, steps, extra=""):
        """The benchmarks' job: a small byte-level GPT. Returns the job id."""
        spec = os.path.join(self.dir, name + ".yaml")
        with open(spec, "w", encoding="utf-8") as f:
            f.write(f"""name: {name}
nodes: {{min: 1, max: {nodes}}}
train:
  model: {{layers: 4, heads: 4, channels: 128, vocab: 256, context: 128}}
  data: {{train: "{self.dir}/data-train*.bin"}}
  batch: {{global: 16, micro: 2}}
  steps: {steps}
checkpoint: {{dir: "{self.dir}/checkpoints", every: 20, keep: 2}}
elastic: {{cooldown: 1s}}
{extra}
""")
        return self.json("submit", spec)["job_id"]
