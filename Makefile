# The verbs of ferry. CI calls the same ones.
#
# T=30s         how long each fuzz target runs
# Q=NAME...     questions of bench/; all if empty
# VERSION=VER   what release makes; that of the commit if empty
# BASE=COMMIT   what bench-compare and bench-history compare with, and what quick finds the change by (main if empty)
# P=./PACKAGE   what mutate changes
# SOURCE=URL    where links to code lead in the site that docs makes
# ROUNDS=N      how often bench-compare measures each row and case
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check

# Build, lint and tests compile with the same flags, so that nothing is compiled twice. With -trimpath, all clones share the build cache.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath

# Compiles all packages. go build ./... also links each program, and removes it.
COMPILE = go list -export ./... >/dev/null

T      ?= 1m
MIXED  ?= 1h
Q      ?=
BASE   ?=
VERSION ?=
SOURCE ?=
ROUNDS ?= 7

# What bench-compare measures if Q is empty: what each message and request passes.
COMPARED = proxy_http1 proxy_bolt idle_conns stream_hop event_edit field_lookup

# uTP needs a C++ compiler.
BENCH_TAGS := $(shell command -v g++ >/dev/null && echo -tags=utp)

# Mutation testing: the module of gremlins.
GREMLINS = github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0

# The platforms ferry is built for, beside the one that builds it.
PLATFORMS = linux/arm linux/386 linux/arm64 linux/riscv64 darwin/arm64 windows/amd64 freebsd/amd64

# Questions are the folders of bench/ that hold a program; helpers live in bench/internal and bench/cmd.
QUESTIONS = $(if $(Q),$(Q),$(sort $(patsubst bench/%/,%,$(dir $(wildcard bench/*/main*.go)))))

.PHONY: check quick run test test-cross proof attack mutate lint fuzz bench bench-compare bench-history build build-cross check-cross deps docs gen release help

check: build lint test ## build, lint and test: what a change has to pass (default)

quick: ## build, lint what has changed since main, and test the packages that the change reaches: make quick BASE=main
	$(COMPILE)
	@test -x bin/golangci-lint || { echo "quick needs golangci-lint: make deps" >&2; exit 1; }
	GOGC=400 bin/golangci-lint run --new-from-merge-base=$(or $(BASE),main) ./...
	@go build -o bin/testrun ./internal/testrun
	@bin/testrun -since $(or $(BASE),main) . bench

run: ## run a node with everything embedded and this machine's sensors as live input
	@go build -o bin/ferry ./cmd/ferry
	@exec bin/ferry run

test: ## all tests of both modules, with -race where goroutines start or memory is shared, and test-cross
	@go build -o bin/testrun ./internal/testrun
	@bin/testrun -cross . bench

test-cross: ## test field, format, protocol, edgex and codec with 32 bits (linux/386; elsewhere than on amd64 linux/arm) and as big-endian linux/s390x, under qemu-user
	@go build -o bin/testrun ./internal/testrun
	@bin/testrun -cross

proof: ## the long proofs: all tests with -race in every package, the formats on more random documents, streams through 50 killed processes, 30 power failures and a cut of 5 minutes, a node through its worst days, 85 changes of a node under load beside nginx and Envoy, then fuzz
	@go build -o bin/testrun ./internal/testrun
	@bin/testrun -race . bench
	go test -tags proof ./format/...
	go test -tags proof -count=1 -timeout 4h -v ./stream/proof ./engine/... ./cmd/ferry/faults
	cd bench && go test -tags proof -count=1 -timeout 1h -v -run '^TestChangeProof$$' ./change
	@$(MAKE) fuzz

attack: ## the attacks on the proxy and the listeners of devices, longer and with more clients, mixed load, and MQTT's clients in C, Go, Java, JavaScript and Python: make attack MIXED=1h
	go test -tags attack -count=1 -timeout 4h -v -run '^(TestAttack|TestLeaks|TestMixedLoad|TestOverloadBudget|TestHostile|TestH2spec|TestPairings|TestPrograms|TestGRPC|TestSmuggl|TestTLSListener|TestSoak)' ./proxy/interop -args -mixed=$(MIXED)
	go test -tags attack -count=1 -timeout 30m -v -run '^(TestPaho|TestMQTTJS|TestFromMosquitto)' ./edge/mqtt ./cmd/ferry/cli
	cd bench && go test -count=1 -timeout 10m ./edge_attack

mutate: ## change the code of a package in many ways, and list the changes that its tests do not notice: make mutate P=./internal/balance
	@test -n "$(P)" || { echo "which package? make mutate P=./internal/balance" >&2; exit 2; }
	go run $(GREMLINS) unleash $(P)

lint: ## golangci-lint on both modules; the architecture's rules are in .golangci.yml
	@test -x bin/golangci-lint || { echo "lint needs golangci-lint: make deps" >&2; exit 1; }
	GOGC=400 bin/golangci-lint run ./...
	@if command -v g++ >/dev/null; then set -x; GOGC=400 bin/golangci-lint run --build-tags utp ./transport/utp; fi
	cd bench && GOGC=400 ../bin/golangci-lint run --config ../.golangci.yml ./...

fuzz: ## run every fuzz target for T each, and list those that failed: make fuzz T=1m
	@scripts/fuzz.sh $(T)

bench: ## measure ferry beside its peers and write bench/results/report.html; one question: make bench Q=field_lookup
	@cd bench && for q in $(QUESTIONS); do echo "== $$q"; go run $(BENCH_TAGS) "./$$q"; done && go run ./cmd/report

bench-compare: ## measure this tree against a commit, in turns in one run: make bench-compare BASE=v0.1.0 Q=proxy_http1
	@test -n "$(BASE)" || { echo "which commit to compare with? make bench-compare BASE=v0.1.0" >&2; exit 2; }
	@cd bench && go run ./cmd/compare -rounds $(ROUNDS) "$(BASE)" $(or $(Q),$(COMPARED))

bench-history: ## print bench/results beside those checked in at a git tag: make bench-history BASE=v0.1.0
	@test -n "$(BASE)" || { echo "which tag to compare with? make bench-history BASE=v0.1.0" >&2; exit 2; }
	@cd bench && go run ./cmd/history "$(BASE)"

build: ## build bin/ferry and compile everything else
	go build -o bin/ferry ./cmd/ferry
	$(COMPILE)
	cd bench && $(COMPILE)

build-cross: ## build ferry for each of PLATFORMS
	@for platform in $(PLATFORMS); do \
		echo "== $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -o /dev/null ./cmd/ferry; \
	done

check-cross: ## check the types of ferry for each of PLATFORMS, without compiling it
	@go run ./internal/crosscheck ./cmd/ferry $(PLATFORMS)

deps: ## install what lint, release and the larger test suites need: golangci-lint, nfpm, SOFABolt's jars, packages for Python and, on Debian, chromium nftables iproute2 tmux qemu-user rpm systemd, a JDK and Maven, nginx wrk apache2-utils nghttp2-client curl Python and Node
	@scripts/deps.sh

release: ## fill dist/ with binaries, packages, images, the Helm chart, an SBOM and checksums: make release VERSION=v1.2.3
	@cd bench && go run ./cmd/release -version "$(VERSION)" -o ../dist

docs: ## make a site of static HTML from docs/ in bin/docs, which needs no server; SOURCE=URL is where links to code lead
	@cd bench && go run ./cmd/docs -o ../bin/docs -source "$(SOURCE)"

gen: ## rewrite the generated files: deps.txt, man pages, configuration schema and its table
	go test -run '^TestDeps$$' . -update
	go test -run '^TestManPages$$' ./cmd/ferry/cli -update
	go generate ./...

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r verb what; do printf '  make %-14s %s\n' "$$verb" "$$what"; done
