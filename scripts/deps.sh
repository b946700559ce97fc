#!/usr/bin/env bash
# Installs what `make lint`, `make release` and the larger test suites need: golangci-lint and nfpm into bin/, Debian packages, h2spec, Java and Python
# libraries, AssemblyScript, MQTT.js.
set -euo pipefail
cd "$(dirname "$0")/.."

# Mirrors and registries fail now and then.
retry() {
	local wait
	for wait in 5 15 30 0; do
		"$@" && return 0
		((wait)) && sleep "$wait"
	done
	return 1
}

lint_version=2.15.0
h2spec_version=2.2.1
nfpm_version=2.45.0
assemblyscript_version=0.28.20
mqttjs_version=5.16.0
packages=(chromium nftables iproute2 tmux gcc g++ libc6-dev libnginx-mod-stream python3-venv qemu-user)

# The modules of both go.mod: what builds and tests later needs no network.
retry go mod download
(cd bench && retry go mod download)

# What the Go toolchain builds, while Debian's packages are fetched and installed.
go_tools() {
	if bin/golangci-lint version 2>/dev/null | grep -q "version v\?$lint_version "; then
		echo "golangci-lint $lint_version is installed"
	else
		echo "building golangci-lint $lint_version into bin/ (some minutes)"
		retry env GOBIN="$PWD/bin" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$lint_version"
	fi

	if [[ "$(go version -m bin/nfpm 2>/dev/null || true)" == *"nfpm/v2	v$nfpm_version	"* ]]; then
		echo "nfpm $nfpm_version is installed"
	else
		echo "building nfpm $nfpm_version into bin/"
		retry env GOBIN="$PWD/bin" go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@v$nfpm_version"
	fi

	# The conformance tests of HTTP/2. It is in no Debian package.
	if command -v h2spec >/dev/null; then
		echo "h2spec is installed"
	else
		echo "building h2spec $h2spec_version"
		h2spec_bin=$(mktemp -d)
		retry env GOBIN="$h2spec_bin" go install "github.com/summerwind/h2spec/cmd/h2spec@v$h2spec_version+incompatible"
		as_root=()
		((EUID == 0)) || as_root=(sudo)
		"${as_root[@]}" install -m 755 "$h2spec_bin/h2spec" /usr/local/bin/h2spec
		rm -rf "$h2spec_bin"
	fi
}

# Jobs that run beside each other; finish waits for them.
jobs=()
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
finish() {
	local job failed=0
	for job in "${jobs[@]}"; do wait "$job" || failed=1; done
	return "$failed"
}

go_tools &
jobs+=($!)

# A JDK or Maven from another source than Debian is used as it is.
{ command -v java && command -v javac; } >/dev/null || packages+=(default-jdk-headless)
command -v mvn >/dev/null || packages+=(maven)

# Clients, servers and load generators that proxy/interop runs against ferry, and the proxies that bench/ measures beside
# it. A program that is installed in another way than by apt is used as it is.
while read -r program package; do
	command -v "$program" >/dev/null || packages+=("$package")
done <<-END
	nginx nginx-light
	haproxy haproxy
	caddy caddy
	wrk wrk
	ab apache2-utils
	h2load nghttp2-client
	nghttpd nghttp2-server
	nghttpx nghttp2-proxy
	curl curl
	openssl openssl
	python3 python3
	mosquitto mosquitto
	mosquitto_pub mosquitto-clients
	node nodejs
	npm npm
	rpm rpm
	systemd-analyze systemd
	rustc rustc
	cargo cargo
END

# The standard library of Rust for WebAssembly, which examples/wasm needs. A rustc of rustup gets it from there.
if command -v rustup >/dev/null; then
	retry rustup target add wasm32-unknown-unknown
else
	packages+=(libstd-rust-dev-wasm32)
fi

missing=()
for p in "${packages[@]}"; do
	[[ "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || true)" == "install ok installed" ]] || missing+=("$p")
done

if ((${#missing[@]} == 0)); then
	echo "packages are installed: ${packages[*]}"
elif ! command -v apt-get >/dev/null; then
	echo "not a Debian system: install by hand what is missing of: chromium nft ip tmux javac mvn nginx wrk ab h2load nghttpd nghttpx curl python3 node haproxy caddy qemu-arm qemu-s390x" >&2
	exit 1
else
	as_root=()
	((EUID == 0)) || as_root=(sudo)
	echo "installing ${missing[*]}"
	retry "${as_root[@]}" apt-get update -qq
	# RUNLEVEL=1: nginx, haproxy and caddy are installed and not started.
	retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

# The real SOFABolt, for the tests of proxy/interop, and Paho, for those of edge/mqtt; their versions are in the pom.
jars() {
	pom=proxy/interop/java/pom.xml
	if cmp -s "$pom" bin/java/pom.xml; then
		echo "the jars of $pom are installed"
	else
		echo "fetching the jars of $pom into bin/java/"
		rm -rf bin/java
		retry mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$PWD/bin/java"
		cp "$pom" bin/java/
	fi
}

# Python libraries that tests and benchmarks run beside ferry.
python_libraries() {
	libraries=scripts/python-libraries.txt
	if cmp -s "$libraries" bin/python/libraries.txt; then
		echo "the libraries of $libraries are installed"
	else
		echo "installing the libraries of $libraries into bin/python/"
		python3 -m venv --clear bin/python
		retry bin/python/bin/pip install -q -r "$libraries"
		cp "$libraries" bin/python/libraries.txt
	fi
}

# node_package NAME VERSION DIR installs a package of npm into bin/DIR/.
node_package() {
	if grep -qs "\"version\": \"$2\"" "bin/$3/node_modules/$1/package.json"; then
		echo "$1 $2 of npm is installed"
	else
		mkdir -p "bin/$3"
		retry npm install --silent --prefix "bin/$3" "$1@$2"
	fi
}

# The compiler of AssemblyScript, which examples/wasm needs, and MQTT.js, for the tests of edge/mqtt.
node_packages() {
	node_package assemblyscript "$assemblyscript_version" assemblyscript
	node_package mqtt "$mqttjs_version" mqttjs
}

# Newer peers of bench/proxy_http1. It has no rows of them if they cannot be downloaded.
newer_peers() {
	retry scripts/debian13.sh || echo "nginx 1.26 and HAProxy 3.0 cannot be downloaded: bench/proxy_http1 has no rows of them" >&2
}

for job in jars python_libraries node_packages newer_peers; do
	"$job" &
	jobs+=($!)
done
finish
