#!/usr/bin/env bash
# Prints the source lines from which a linked image can reach forbidden functions; `firmware-gate.sh` calls it on a failure.
#
#   FORBIDDEN=REGEX .ci/firmware-blame.sh IMAGE          the default looks for panics
#
# One line for each place: file:line, the function there, and what it leads to. Needs line tables in the image.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
image=$1
cross=$("$here/cross-toolchain.sh")
export FORBIDDEN=${FORBIDDEN:-panic|rust_begin_unwind}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Edges between functions: origin, caller, callee. Calls to functions that do not return share a block behind the function,
# which has no line of its own; what counts there is the branch that goes to the block.
"$cross/bin/llvm-objdump" --disassemble --demangle --no-show-raw-insn "$image" | awk '
    function flush(    i, j, redirected) {
        for (i = 1; i <= calls; i++) {
            redirected = 0
            for (j = 1; j <= jumps; j++)
                if (to[j] <= at[i] && at[i] - to[j] <= 12) {
                    printf "%x\t%s\t%s\n", from[j], caller, callee[i]
                    redirected = 1
                }
            if (!redirected) printf "%x\t%s\t%s\n", at[i], caller, callee[i]
        }
        calls = jumps = 0
    }
    function number(hex,    i, n) {
        for (i = 1; i <= length(hex); i++) n = 16 * n + index("123456789abcdef", substr(hex, i, 1))
        return n
    }
    /^[0-9a-f]+ <.*>:$/ {
        flush()
        caller = substr($0, index($0, "<") + 1)
        sub(/>:$/, "", caller)
        next
    }
    match($0, /0x[0-9a-f]+ <.*>/) {
        split(substr($0, RSTART, RLENGTH), target, " ")
        name = substr($0, RSTART, RLENGTH)
        name = substr(name, index(name, "<") + 1)
        sub(/>$/, "", name)
        sub(/\+0x[0-9a-f]+$/, "", name)
        sub(/:$/, "", $1)
        if (name == caller) {
            from[++jumps] = number($1)
            to[jumps] = number(substr(target[1], 3))
        } else {
            at[++calls] = number($1)
            callee[calls] = name
        }
    }
    END { flush() }' >"$tmp/edges"

# Towards the callers, until a place has a line of ours: code of the standard library may not have been inlined.
awk -F '\t' '$3 ~ ENVIRON["FORBIDDEN"] { print $3 }' "$tmp/edges" | sort -u >"$tmp/frontier"
cp "$tmp/frontier" "$tmp/seen"
for _ in 1 2 3 4 5 6; do
    [ -s "$tmp/frontier" ] || break
    awk -F '\t' '
        FILENAME == ARGV[1] { frontier[$0]; next }
        $3 in frontier && $2 !~ ENVIRON["FORBIDDEN"]' "$tmp/frontier" "$tmp/edges" >"$tmp/reaching"
    # Of the functions inlined at a place, the innermost that is ours.
    cut -f 1 "$tmp/reaching" | sed 's/^/0x/' |
        "$cross/bin/llvm-symbolizer" --obj="$image" --inlines --demangle | awk -v RS= -F '\n' -v root="${here%.ci}" '
            {
                place = ""
                for (i = 2; i <= NF && !place; i += 2)
                    if (index($i, root) == 1 && $i !~ /:0:[0-9]+$/) {
                        name = $(i - 1)
                        place = substr($i, length(root) + 1)
                        sub(/:[0-9]+$/, "", place)
                        sub(/<.*>$/, "", name)
                        place = place "  " name
                    }
                print place
            }' | paste "$tmp/reaching" - >"$tmp/placed"
    awk -F '\t' '$4 { print "  " $4 " -> " $3 }' "$tmp/placed" >>"$tmp/places"
    awk -F '\t' '!$4 { print $2 }' "$tmp/placed" >"$tmp/unknown"
    sort -u "$tmp/unknown" | comm -23 - <(sort -u "$tmp/seen") >"$tmp/frontier"
    cat "$tmp/frontier" >>"$tmp/seen"
done
# A reference that is no call, e.g. in a table of functions.
[ -s "$tmp/places" ] || echo "  (no line known)" >"$tmp/places"
# shellcheck disable=SC2016 # the dollar signs are those of mangled names
sed -E 's/::h[0-9a-f]{16}\b//g; s/_?\$LT\$/</g; s/\$GT\$/>/g; s/\$C\$/, /g; s/\$u20\$/ /g' "$tmp/places" | sort -u
