# The front door. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SECONDS_EACH ?= 10
export DOTNET_CLI_TELEMETRY_OPTOUT = 1
export DOTNET_NOLOGO = 1
export DOTNET_SKIP_FIRST_TIME_EXPERIENCE = 1

.PHONY: help
help: ## list the targets
	@echo "mixstack: native and managed stacks of a running .NET process, from outside"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: bootstrap
bootstrap: ## install the Debian packages that everything below needs
	@scripts/bootstrap

.PHONY: build
build: bootstrap ## the command with tests, in build/dev (build/dev/bin/mixstack)
	@scripts/build dev

.PHONY: release
release: bootstrap ## the command as it is shipped: optimised, one static file (build/release/bin/mixstack)
	@scripts/build release mixstack

.PHONY: demo
demo: release ## start a small .NET program, print its mixed stacks, stop it
	@MIXSTACK=$(CURDIR)/build/release/bin/mixstack demos/run

.PHONY: test
test: build ## unit tests, house checks and live tests, with totals
	@scripts/run_tests

.PHONY: bench
bench: release ## benchmarks, each against a peer in the same run
	@scripts/build bench benches
	@scripts/run_benches

.PHONY: fuzz
fuzz: bootstrap ## every fuzzer under ASan and UBSan, SECONDS_EACH=10 seconds each
	@scripts/build fuzz fuzzers
	@scripts/run_fuzzers $(SECONDS_EACH)

.PHONY: asan
asan: bootstrap ## unit tests under ASan and UBSan
	@scripts/build asan
	@ctest --test-dir build/asan -L unit --output-on-failure -j $(JOBS)

.PHONY: tsan
tsan: bootstrap ## unit and live tests under TSan (the same with ASan and UBSan: scripts/sanitize asan)
	@scripts/sanitize tsan

.PHONY: format
format: ## format all C++ sources (clang-format 14)
	@scripts/format

.PHONY: lint
lint: build ## clang-tidy, format, layers, sizes (FILES='a.cc b.cc' for some files only)
	@scripts/lint $(FILES)

.PHONY: install
install: release ## put the command to PREFIX/bin (PREFIX=/usr/local)
	@cmake --install build/release --strip --prefix "$(abspath $(PREFIX))" > /dev/null
	@echo "installed $(abspath $(PREFIX))/bin/mixstack"

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf build
