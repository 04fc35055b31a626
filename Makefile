# What one does with this repository. `make` alone lists it.

CARGO ?= cargo
KERNELS ?= all

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One clear line instead of make's "command not found" when Rust is not there.
.PHONY: cargo
cargo:
	@command -v $(CARGO) >/dev/null || { \
	  echo "exactop: cargo not found: install Rust from https://rustup.rs, or put it on PATH" >&2; \
	  exit 1; }

.PHONY: deps
deps: ## Install what building and testing need (as root; else say what to run)
	@scripts/deps.sh

.PHONY: build
build: cargo ## Build the release binary: target/release/exactop
	@scripts/deps.sh build
	$(CARGO) build --release -p exactop --features static

.PHONY: run
run: build ## Build and start the live view (as root: the exact ledger; else procfs)
	target/release/exactop

PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

.PHONY: lib
lib: cargo ## Build libexactop: target/release/libexactop.{so,a}
	@scripts/deps.sh build
	$(CARGO) build --release -p exactop-capi

.PHONY: install-lib
install-lib: lib ## Install libexactop, exactop.h and exactop.pc below PREFIX (default /usr/local)
	install -D -m 755 target/release/libexactop.so $(DESTDIR)$(PREFIX)/lib/libexactop.so
	install -D -m 644 target/release/libexactop.a $(DESTDIR)$(PREFIX)/lib/libexactop.a
	install -D -m 644 crates/capi/include/exactop.h $(DESTDIR)$(PREFIX)/include/exactop.h
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' crates/capi/exactop.pc.in \
	    > $(DESTDIR)$(PREFIX)/lib/pkgconfig/exactop.pc

.PHONY: test
test: cargo ## Run all tests (those of the ledger need root)
	@scripts/deps.sh test
	$(CARGO) test --workspace

.PHONY: bench
bench: cargo ## Measure the cost of looking, beside other tops
	$(CARGO) xtask bench

.PHONY: bench-ptop
bench-ptop: cargo ## The precise top's comparison: every source of ours and other tops
	$(CARGO) xtask bench --only ptop --only growth

LAB_ARGS ?= --repeats 9

.PHONY: lab-report
lab-report: build ## Run every experiment (as root, half an hour): target/lab-report/report.html
	target/release/exactop lab run all --out target/lab-report $(LAB_ARGS)

.PHONY: lint
lint: cargo ## Formatting, clippy with and without BPF, documentation; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p exactop --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --workspace

.PHONY: audit
audit: cargo ## Check what crates are used against deny.toml, and known advisories (needs the network)
	@scripts/audit.sh

FUZZ_SECONDS ?= 600

.PHONY: fuzz
fuzz: cargo ## Fuzz every target for FUZZ_SECONDS (default 600), as many at once as CPUs
	@scripts/deps.sh test
	$(CARGO) xtask fuzz --seconds $(FUZZ_SECONDS)

.PHONY: hostile
hostile: build ## Kill, storm, limit and misname: the table of docs/security.md (as root, 10 minutes)
	$(CARGO) xtask hostile

.PHONY: test-kernels
test-kernels: cargo ## Run exactop on Debian's kernels in emulated machines (KERNELS='6.1 sid')
	scripts/test-kernels.sh $(KERNELS)
