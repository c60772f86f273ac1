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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: bootstrap
bootstrap: ## install the Debian packages that everything below needs
	@scripts/bootstrap

.PHONY: build-packages
build-packages:
	@scripts/bootstrap --build

.PHONY: build
build: bootstrap ## the command with tests, in build/dev (build/dev/bin/mixstack)
	@scripts/build dev

.PHONY: release
release: build-packages ## the command as it is shipped: optimised, one static file (build/release/bin/mixstack)
	@scripts/build release mixstack

.PHONY: demo
demo: build-packages ## a .NET program with native code: one mixed stack, one deadlock told, one flame graph
	@echo "Building mixstack, quickly (make install builds what is shipped). This takes two to five minutes on two cores."
	@if [[ -t 1 ]]; then scripts/build demo mixstack; else mkdir -p build; \
	  scripts/build demo mixstack > build/demo-build.log 2>&1 || { tail -40 build/demo-build.log >&2; exit 1; }; fi
	@MIXSTACK=$(CURDIR)/build/demo/bin/mixstack demos/run

.PHONY: unit
unit: build ## unit tests only (ONLY=Text for those with it in their name)
	@ONLY="$(ONLY)" MIXSTACK_NO_LIVE=1 scripts/run_tests -L unit

.PHONY: test
test: build ## unit tests, house checks and live tests, with totals (ONLY=Exceptions for some)
	@ONLY="$(ONLY)" scripts/run_tests

.PHONY: test-arm64
test-arm64: ## ARM64 built here and tested on an emulated machine (unit, live, StackwalkerAPI, stress), with totals
	@scripts/test_arm64

.PHONY: musl
musl: bootstrap ## the agent for musl systems (Alpine): build/musl/lib/libmixstack_agent-musl.so
	@scripts/musl_toolchain
	@scripts/build musl mixstack_agent_library

.PHONY: test-musl
test-musl: build ## the agent in .NET for musl: its live tests, with totals
	@scripts/test_musl

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

.PHONY: shipped
shipped: build-packages
	@scripts/build release mixstack mixstack-helper libraries

.PHONY: install
install: shipped ## put the command and the shared libraries below PREFIX (PREFIX=/usr/local)
	@cmake --install build/release --component runtime --strip --prefix "$(abspath $(PREFIX))" > /dev/null
	@echo "installed $(abspath $(PREFIX))/bin/mixstack"

.PHONY: install-dev
install-dev: install ## the same and what programs on the library need: headers, archives, CMake and pkg-config files
	@cmake --install build/release --component dev --prefix "$(abspath $(PREFIX))" > /dev/null

.PHONY: package
package: shipped ## Debian packages: mixstack and libmixstack-dev (build/release/packages)
	@cd build/release && cpack -G DEB > packages.log 2>&1 || { cat packages.log; exit 1; }
	@ls build/release/packages/*.deb

.PHONY: dist
dist: bootstrap ## the files of a release, in dist/: archives, packages, SBOM, checksums (docs/install.md)
	@scripts/dist $(if $(wildcard build/arm64-sysroot),,--x86-64-only)

.PHONY: consumers
consumers: shipped ## programs of others built with the packages: find_package, pkg-config, FetchContent, NuGet
	@scripts/build release mixstack_standalone
	@tests/consumers/run
	@tests/nuget/run

.PHONY: reference
reference: ## the API reference as HTML from the public headers (build/reference; needs doxygen)
	@mkdir -p build/reference
	@MIXSTACK_REFERENCE=build/reference doxygen docs/Doxyfile
	@echo "build/reference/index.html"

.PHONY: clean
clean: ## remove everything that was built
	@rm -rf build
