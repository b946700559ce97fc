#!/usr/bin/env bash
# Unpacks nginx 1.26 and HAProxy 3.0 of Debian 13, with the libraries they need, into the user's cache, for bench/proxy_http1. Nothing is
# installed. It needs Debian 12: a later one has them anyway.
set -euo pipefail

packages=(nginx haproxy libc6 libcrypt1 libpcre2-8-0 libssl3t64 zlib1g libzstd1 liblua5.4-0 libsystemd0 libcap2 libjemalloc2 libgcc-s1)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ferry-bench/debian-13

if [[ -d $dir ]]; then
	echo "nginx 1.26 and HAProxy 3.0 are in $dir"
	exit
fi
. /etc/os-release
if [[ ${ID-} != debian || ${VERSION_ID-} != 12 ]]; then
	echo "nginx 1.26 and HAProxy 3.0 are unpacked on Debian 12 only"
	exit
fi

half=$(mktemp -d)
trap 'rm -rf "$half"' EXIT
mkdir -p "$half/lists/partial" "$half/cache/archives/partial" "$half/packages" "$half/root"
: >"$half/status"
# The mirror is the one that the system uses.
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Created-By: Packages' | head -1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" >"$half/sources.list"
apt=(apt-get -q -o "Dir::Etc::sourcelist=$half/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State=$half"
	-o "Dir::State::status=$half/status" -o "Dir::Cache=$half/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -o Acquire::Languages=none)
"${apt[@]}" update >"$half/log" 2>&1 || { cat "$half/log" >&2; exit 1; }
(cd "$half/packages" && "${apt[@]}" download "${packages[@]}") >"$half/log" 2>&1 || { cat "$half/log" >&2; exit 1; }
for package in "$half"/packages/*.deb; do
	dpkg-deb -x "$package" "$half/root"
done
mkdir -p "$(dirname "$dir")"
rm -rf "$dir.new"
cp -r "$half/root" "$dir.new"
mv "$dir.new" "$dir"
echo "unpacked nginx 1.26 and HAProxy 3.0 into $dir"
