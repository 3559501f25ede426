#!/bin/bash
# The program as a person or a signal meets it.
set -u
worker=$1
fail() { echo "FAILED: $*" >&2; exit 1; }

"$worker" --version | grep -q '^muster-worker [0-9]' || fail "--version"
"$worker" --help | grep -q 'musterctl submit' || fail "--help does not say how to train"

said=$("$worker" --no-such-flag 2>&1); code=$?
[ $code = 64 ] || fail "unknown flag: exit code $code"
[ "$(wc -l <<<"$said")" = 1 ] || fail "unknown flag: more than a line: $said"

said=$(env -u MUSTER_AGENT_SOCKET "$worker" 2>&1); code=$?
[ $code = 64 ] || fail "without an agent: exit code $code"
grep -q 'started by muster-agent' <<<"$said" || fail "without an agent it says: $said"

# Waits for an agent that never comes, until it is told to end.
export MUSTER_AGENT_SOCKET=$TEST_TMPDIR/none MUSTER_JOB_ID=job-1 MUSTER_GENERATION=1 RANK=0
"$worker" 2>/dev/null &
pid=$!
# Its handler is in place once SIGTERM is among the caught signals (bit 14) of its status.
until [ $((0x$(awk '/^SigCgt/ {print substr($2, 13)}' /proc/$pid/status) & 0x4000)) != 0 ]; do :; done
kill -TERM $pid
wait $pid; code=$?
[ $code = 143 ] || fail "SIGTERM: exit code $code"
echo ok
