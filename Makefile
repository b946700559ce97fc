# The verbs of ferry. CI calls the same ones.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check

T    ?= 1m
Q    ?=
BASE ?=

# Questions are the folders of bench/ that hold a program; helpers live in bench/internal and bench/cmd.
QUESTIONS = $(if $(Q),$(Q),$(patsubst bench/%/main.go,%,$(wildcard bench/*/main.go)))

.PHONY: check run test lint fuzz bench bench-compare build deps gen help

check: build lint test ## build, lint and test: what a change has to pass (default)

run: ## run a node with everything embedded and this machine's sensors as live input
	@go build -o bin/ferry ./cmd/ferry
	@exec bin/ferry run

test: ## all tests of both modules, with the race detector where there is a C compiler; needs Go and git only
	@go build -o bin/testrun ./internal/testrun
	@bin/testrun . bench

lint: ## golangci-lint on both modules; the architecture's rules are in .golangci.yml
	@test -x bin/golangci-lint || { echo "lint needs golangci-lint: make deps" >&2; exit 1; }
	bin/golangci-lint run ./...
	cd bench && ../bin/golangci-lint run --config ../.golangci.yml ./...

fuzz: ## run every fuzz target for T each: make fuzz T=1m
	@grep -rHo --include='*_test.go' --exclude-dir=bench '^func Fuzz[A-Za-z0-9_]*' . | sort -u | \
	while IFS=: read -r file func; do \
		target="$${func#func }"; \
		echo "== $$(dirname "$$file") $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(T) -fuzzminimizetime 1x "$$(dirname "$$file")"; \
	done

bench: ## measure ferry beside its peers and write bench/results/report.html; one question: make bench Q=field_lookup
	@cd bench && for q in $(QUESTIONS); do echo "== $$q"; go run "./$$q"; done && go run ./cmd/report

bench-compare: ## compare bench/results with those at a git tag: make bench-compare BASE=v0.1.0
	@test -n "$(BASE)" || { echo "which tag to compare with? make bench-compare BASE=v0.1.0" >&2; exit 2; }
	@cd bench && go run ./cmd/compare "$(BASE)"

build: ## build bin/ferry and compile everything else
	go build -trimpath -o bin/ferry ./cmd/ferry
	go build ./...
	cd bench && go build ./...

deps: ## install what lint and the larger test suites need: golangci-lint, SOFABolt's jars and, on Debian, chromium nftables iproute2 tmux, a JDK and Maven, nginx wrk apache2-utils nghttp2-client curl Python and Node
	@scripts/deps.sh

gen: ## rewrite the generated files: deps.txt, configuration schema
	go test -run '^TestDeps$$' . -update
	go generate ./...

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r verb what; do printf '  make %-14s %s\n' "$$verb" "$$what"; done
