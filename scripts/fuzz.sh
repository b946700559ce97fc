#!/usr/bin/env bash
# Runs every fuzz target of ferry's module for the time given, one after the other, and lists those that failed. A target
# that fails does not stop the others; the exit status is 1 if one failed.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:?usage: fuzz.sh TIME, such as 1m}
failed=()
count=0
while IFS=: read -r file func; do
	target=${func#func } package=$(dirname "$file")
	echo "== $package $target"
	count=$((count + 1))
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" </dev/null ||
		failed+=("$package $target")
done < <(grep -rHo --include='*_test.go' --exclude-dir=bench '^func Fuzz[A-Za-z0-9_]*' . | sort -u)

if ((${#failed[@]} > 0)); then
	echo "${#failed[@]} of $count fuzz targets failed; the inputs are in testdata/fuzz of their packages:"
	printf '  %s\n' "${failed[@]}"
	exit 1
fi
echo "$count fuzz targets passed"
