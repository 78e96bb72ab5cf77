#!/usr/bin/env bash
# The script that reads profiler tables with pandas, on the tables of two products that name their columns differently; and a trace,
# decoded by Perfetto's own package.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python" >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -y -qq python3-venv >/dev/null
    python3 -m venv "$work/python"
}
"$work/python/bin/pip" install -q --disable-pip-version-check pandas matplotlib perfetto

# As the gate of the README's commands builds it.
ubtile() { cargo run -q --release --locked -- "$@"; }
for soc in Ascend910B1 Ascend310P3; do
    ubtile sim replication-pad2d-backward --shape grad_output=2,16,58,58 --padding 1,1,1,1 --dtype f16 --soc "$soc" \
        --unsupported --output "$work/$soc" >/dev/null
done
"$work/python/bin/python" docs/two_products.py "$work/Ascend910B1" "$work/Ascend310P3" "$work/both.svg" >"$work/out"
cat "$work/out"

# The tables say what the reports do.
for soc in Ascend910B1 Ascend310P3; do
    time=$(sed -n 's/^  "task_us": \([0-9]*\.[0-9]*\).*/\1/p' "$work/$soc/report.json")
    grep -qE "^task us.* $(printf '%.2f' "$time")( |$)" "$work/out" || { echo "notebook: FAILED: $soc takes $time us" >&2; exit 1; }
done
grep -q '</svg>' "$work/both.svg" || { echo "notebook: FAILED: no picture" >&2; exit 1; }
# Of two profiles in a folder, none is taken.
cp -r "$work"/Ascend910B1/OPPROF_* "$work/Ascend910B1/OPPROF_again"
if "$work/python/bin/python" docs/two_products.py "$work/Ascend910B1" "$work/Ascend310P3" "$work/none.svg" 2>"$work/error" ||
    ! grep -q "has 2 profiles" "$work/error"; then
    echo "notebook: FAILED: two profiles are taken for one" >&2
    exit 1
fi
rm -r "$work/Ascend910B1/OPPROF_again"

ubtile sim max-unpool2d-backward --shape self=2,16,28,28 --output-size 56,56 --trace-format perfetto --output "$work/trace" >/dev/null
"$work/python/bin/python" - "$work"/trace/OPPROF_*/simulator/trace.pftrace <<'EOF'
import collections
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto


def unknown(message):
    """Fields that Perfetto's definitions do not have."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            inner = [value] if hasattr(value, "ListFields") else value
            count += sum(map(unknown, inner))
    return count


trace = perfetto.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
assert unknown(trace) == 0
tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")}
events = collections.Counter(packet.track_event.type for packet in trace.packet if packet.HasField("track_event"))
kinds = perfetto.TrackEvent
assert events[kinds.TYPE_SLICE_BEGIN] == events[kinds.TYPE_SLICE_END] > 10, events
assert events[kinds.TYPE_COUNTER] > 0, events
assert all(track.parent_uuid in tracks for track in tracks.values() if not track.HasField("process"))
print(f"notebook: Perfetto's package reads {len(trace.packet)} packets on {len(tracks)} tracks")
EOF
echo "notebook: all is well"
