# `make` lists the targets. Each says what it does after its "##"; what takes more than a line or two is a script in scripts/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Tools have a module file of their own, so that no linter ever raises a version of what we ship.
TOOL := go tool -modfile=tools.mod
VERSION ?= $(shell git describe --tags --always --dirty)
PKG ?= ./...
BENCH ?= .
FUZZTIME ?= 10s
EXAMPLES ?= 50
DATA ?= .cache/data

# The Go files that are ours: what tests build below .cache is not, and test data may look as it likes.
OURS := find . \( -name .cache -o -name testdata \) -prune -o -name '*.go' -print0

# The packages whose tests match a pattern: where the benchmarks are, or the golden files.
packages_with = $$(grep -rlE --include='*_test.go' --exclude-dir=.cache '$(1)' . | xargs -r -n1 dirname | sort -u)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what the tests need and is not here yet (as root on Debian: PostgreSQL, semgrep)
	@scripts/setup

.PHONY: build
build: ## Build bin/redoubt
	CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/redoubt/redoubt/internal/about.Version=$(VERSION)" -o bin/redoubt ./cmd/redoubt

.PHONY: test
test: setup ## Run every test, on SQLite and PostgreSQL; PKG=./internal/store/... narrows it
	@scripts/test $(PKG)

.PHONY: test-fast
test-fast: ## Run the tests that need neither scanner, browser nor PostgreSQL, setting nothing up
	@scripts/test -fast $(PKG)

.PHONY: race
race: setup ## Run the tests of the index, the store and the Web API with the race detector
	@scripts/test -race $(PKG)

.PHONY: cover
cover: setup ## Run every test and tell how much of the code ran; the profile is .cache/cover.out
	@scripts/test -cover $(PKG)

.PHONY: check
check: formatted vet staticcheck tidy architecture prose ## The fast gate: format, vet, staticcheck, tidy go.mod, architecture, prose

.PHONY: formatted vet staticcheck tidy architecture
formatted:
	@files=$$($(OURS) | xargs -0 $(TOOL) gofumpt -l); \
	if [ -n "$$files" ]; then printf 'not formatted, run make fmt:\n%s\n' "$$files"; exit 1; fi
vet: # the tests that are built for a target of their own, too
	go vet ./...
	go vet -tags 'hosts faults' ./...
staticcheck:
	$(TOOL) staticcheck ./...
tidy:
	go mod tidy -diff
architecture: # imports, sizes, and the pinned version of libc
	go test ./internal/archtest

.PHONY: prose
prose: ## Check the language of comments, pages, help and docs
	@go run ./internal/tools/prose

.PHONY: lint
lint: ## Run all linters of .golangci.yml (the first run builds golangci-lint, some minutes)
	$(TOOL) golangci-lint run

.PHONY: fmt
fmt: ## Format the code
	$(OURS) | xargs -0 $(TOOL) gofumpt -w

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what we import (needs the network)
	go run golang.org/x/vuln/cmd/govulncheck@latest ./...

.PHONY: bench
bench: ## Run the benchmarks, each beside its limit; BENCH=Deployment/10000/page narrows them
	go test -run '^$$' -bench '$(BENCH)' -timeout 60m $(call packages_with,^func Benchmark)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME=10s
	@FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: faults
faults: setup ## Kill, starve and damage servers on both engines, ten minutes at most (Linux; as root, for a disk that fills)
	go test -tags faults $(call packages_with,^//go:build faults) -count=1 -timeout 10m -run '^TestFaults' -v | grep -v '^=== '

.PHONY: test-hosts
test-hosts: ## Test against real code hosts: builds Gitea once, nine minutes of processor, then a few minutes (Linux; as root, it runs as nobody)
	@scripts/gitea
	REDOUBT_TEST_SEMGREP=$${REDOUBT_TEST_SEMGREP:-$(CURDIR)/.cache/venv/bin/semgrep} go test -tags hosts $(call packages_with,^//go:build hosts) -count=1 -timeout 15m -run '^TestHosts' -v | grep -v '^=== '

.PHONY: transcript-hosts
transcript-hosts: ## Record again what docs/guides/managed-scans-example.md shows: the way of make test-hosts
	@scripts/gitea
	REDOUBT_TEST_SEMGREP=$${REDOUBT_TEST_SEMGREP:-$(CURDIR)/.cache/venv/bin/semgrep} go test -tags hosts ./test/e2e -count=1 -timeout 15m -run '^TestHostsStory$$' -record
	@git --no-pager diff --stat docs/guides/managed-scans-example.md

.PHONY: schemathesis
schemathesis: ## Hold a demo server to openapi.json, EXAMPLES=50 for each operation (needs Python and the network once)
	@EXAMPLES=$(EXAMPLES) scripts/schemathesis

.PHONY: golden
golden: ## Write the golden files again; read the diff before committing it
	go test $(call packages_with,flag\.Bool.*"update") -update
	@git --no-pager diff --stat

.PHONY: clients
clients: setup ## Run other people's clients, and write the table of docs/guides/clients.md that tells what they read
	REDOUBT_TEST_SEMGREP=$(CURDIR)/.cache/venv/bin/semgrep REDOUBT_TEST_GENERATORS=$(CURDIR)/.cache/generators REDOUBT_TEST_CLIENTS=$(CURDIR)/.cache/clients \
	  go test $(call packages_with,clienttest\.CheckRow) -run Client -update
	@git --no-pager diff --stat docs/guides/clients.md

.PHONY: screenshots
screenshots: ## Draw the demo's pages into .cache/screenshots, light, dark and narrow (needs Chromium)
	@mkdir -p .cache/screenshots
	go test ./test/e2e -count=1 -run TestScreenshots -screenshots $(CURDIR)/.cache/screenshots
	@ls .cache/screenshots

.PHONY: schema
schema: ## Write the dumped database schemas again
	go test ./internal/store -update

.PHONY: samples
samples: ## Make the sample reports of the demo again, with the real scanners
	@scripts/samples

.PHONY: pairs
pairs: ## Make the pairs of reports again that tell what matches (after make samples, which installs the scanners)
	@scripts/pairs

.PHONY: histories
histories: setup ## Replay releases of real repositories with the real scanner, and compare (needs the network; not in make test)
	@scripts/histories

.PHONY: transcript
transcript: setup ## Record docs/start/first-scan.md again: its commands, and what they print
	@scripts/transcript

.PHONY: demo
demo: ## Start a server on sample data in a temporary folder, and print how to call it
	go run ./cmd/redoubt demo

.PHONY: run
run: ## Start a server on the folder DATA=.cache/data
	go run ./cmd/redoubt serve --data $(DATA)

.PHONY: release
release: ## Build for every platform into dist/, with SHA-256 sums
	@VERSION=$(VERSION) scripts/release

.PHONY: clean
clean: ## Remove what the targets above made
	rm -rf bin dist .cache
