# Short names for the common tasks; CMake builds. `make help` lists the targets.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# How many jobs at once: the cores that this process may use.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# WERROR=ON: warnings are errors. More CMake options go into CMAKE_OPTIONS.
WERROR ?=
CMAKE_OPTIONS ?=
FUZZ_SECONDS ?= 60
KILLS ?= 200
MODELS ?= all
# Of `make compare`: a commit (scripts/compare_commits.sh has a default), sections or cases, more options.
BASE ?=
ONLY ?=
COMPARE_OPTIONS ?=
STATES ?=

GENERATOR := $(if $(shell command -v ninja 2>/dev/null),-G Ninja)
CONFIGURE = cmake -S . -B $(1) $(if $(wildcard $(1)/CMakeCache.txt),,$(GENERATOR)) $(if $(WERROR),-DLIANA_WERROR=$(WERROR)) \
	$(CMAKE_OPTIONS) $(2) --log-level=WARNING -Wno-dev >/dev/null
COMPILE = cmake --build $(1) --parallel $(JOBS)
INSTALL = cmake --install $(1) --strip
# Debian's packages. Packages that are there cost nothing.
PACKAGES = scripts/install-packages.sh
INSTALL_PEERS = scripts/install-peers.sh
# One test more than there are cores: those of clusters and deaths mostly wait.
TEST = scripts/run_tests.sh $(1) --parallel $$(($(JOBS) + 1)) $(2) $(TEST_OPTIONS)

.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

all: ## Use: build libliana and the liana command into $(BUILD)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana_product

help: ## Use: list the targets
	@awk -f scripts/make_help.awk Makefile

demo: ## Use: from a fresh machine to a trained classifier: packages, build, drawn flowers, training, a picture
	scripts/demo.sh

test: ## Test: install the packages that are missing, build everything and run all tests (TEST_OPTIONS: more for ctest: '-L checks', '-R base')
	$(PACKAGES) --tests
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD))
	$(call TEST,$(BUILD),-LE peers)

check-peers: ## Test: compare with Keras, TensorFlow, TensorFlow.js, JAX, onnxruntime and the PJRT plugin for CPUs, and look at pages in Chromium; all is fetched once (4 GiB)
	$(PACKAGES) --tests --peers
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD))
	$(INSTALL_PEERS) || echo "The other peers are compared with."
	$(call TEST,$(BUILD),-L peers)

test-levels: ## Test: run the unit tests for each instruction set of this processor (LIANA_MAX_ISA); once those without arithmetic, and the checks
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD))
	set -e; for level in $$($(BUILD)/liana list instruction_sets); do \
		echo "LIANA_MAX_ISA=$$level"; \
		LIANA_MAX_ISA=$$level $(call TEST,$(BUILD)) -L unit -LE files; \
	done
	$(call TEST,$(BUILD)) -L 'files|checks|bench'

# COMPILERS=all: those of Debian that liana is built with, older and newer ones (scripts/install-packages.sh --compilers).
COMPILERS ?= gcc clang-14
TYPES ?= Debug Release
test-builds: ## Test: run all tests in Debug and Release builds of gcc and clang, without warnings, in $(BUILD)-COMPILER-TYPE (COMPILERS=all: six of them; TYPES)
	set -e; for compiler in $(subst all,gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19,$(COMPILERS)); do for type in $(TYPES); do \
		echo "$$compiler $$type"; \
		$(MAKE) --no-print-directory test BUILD=$(BUILD)-$$compiler-$$type WERROR=ON \
			CMAKE_OPTIONS="$(CMAKE_OPTIONS) -DCMAKE_C_COMPILER=$$compiler -DCMAKE_BUILD_TYPE=$$type"; \
	done; done

asan: ## Test: run the tests under AddressSanitizer and UndefinedBehaviorSanitizer, in $(BUILD)-asan
	$(call CONFIGURE,$(BUILD)-asan,-DLIANA_SANITIZE=address$(comma)undefined)
	$(call COMPILE,$(BUILD)-asan)
	$(call TEST,$(BUILD)-asan)

tsan: ## Test: run the tests under ThreadSanitizer, in $(BUILD)-tsan
	$(call CONFIGURE,$(BUILD)-tsan,-DLIANA_SANITIZE=thread)
	$(call COMPILE,$(BUILD)-tsan)
	$(call TEST,$(BUILD)-tsan)

kills: ## Test for long: kill, halt and cut trainings in several processes, KILLS times (docs/explanation/reliability.md)
	python3 tests/checks/kills.py $(BUILD) --kills $(KILLS)

fuzz: ## Test: run each reader of files on inputs that libFuzzer makes, FUZZ_SECONDS each
	$(call CONFIGURE,$(BUILD)-fuzz,-DCMAKE_C_COMPILER=clang-14 -DLIANA_FUZZ=ON)
	$(call COMPILE,$(BUILD)-fuzz) --target liana_fuzz
	set -e; for target in $(BUILD)-fuzz/fuzz_*; do \
		mkdir -p $(BUILD)-fuzz/corpus/$$(basename $$target); \
		LSAN_OPTIONS=suppressions=tests/fuzz/lsan.supp:print_suppressions=0 \
			$$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(BUILD)-fuzz/ \
			-print_final_stats=1 $(BUILD)-fuzz/corpus/$$(basename $$target) \
			$$(ls -d tests/fuzz/corpus/$$(basename $$target) 2>/dev/null); \
	done

bench: ## Measure: measure speed and memory of liana, PyTorch, JAX and TensorFlow: a table and a plot (nothing else should run; see bench/bench.sh)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana bench_step bench_run bench_report
	bench/bench.sh $(BUILD)
	bench/bench_page.sh $(BUILD) || [ $$? -eq 77 ]

bench-docs: ## Measure: the same, written into bench/peers.md and docs/images
	$(MAKE) bench DOCS=yes

check-batches: ## Test for long: run all subcommands with batches of all sizes, one example and none, under AddressSanitizer and UndefinedBehaviorSanitizer, in $(BUILD)-asan-plain (long)
	$(call CONFIGURE,$(BUILD)-asan-plain,-DLIANA_SANITIZE=address$(comma)undefined -DLIANA_X86=OFF)
	$(call COMPILE,$(BUILD)-asan-plain) --target liana test_batch_sizes test_on_batch test_step test_replicas test_estimator
	ctest --test-dir $(BUILD)-asan-plain --output-on-failure -R '^test_(batch_sizes|on_batch|step|replicas|estimator)$$'
	sh tests/checks/batches.sh $(BUILD)-asan-plain

check-bare: ## Test for long: run make demo, make test and make check-peers on a Debian 12 that is made bare for it, in three states (root; an hour)
	scripts/check_bare_debian.sh $(STATES)

check-slurm: ## Test for long: run jobs under Slurm itself, one node on this machine (root; Slurm is unpacked, not installed; a few minutes)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	sh tests/checks/slurm.sh $(BUILD)

check-ahead: ## Test for long: compile updates of large networks for one TPU chip and eight, and for H200s, without them (fetches libtpu and the plugin for GPUs, 600 MB; long)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	sh tests/checks/ahead.sh $(BUILD)

check-zoo: ## Test for long: compare every model with Keras (outputs, gradients, numbers, files), then the PJRT plugin for CPUs with the CPU (an hour; MODELS: only these)
	$(INSTALL_PEERS) plugin tensorflow
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target test_zoo_training test_keras_zoo test_pjrt_zoo
	$(BUILD)/test_zoo_training $(MODELS)
	$(BUILD)/test_keras_zoo $(MODELS)
	$(BUILD)/test_pjrt_zoo $(MODELS)

check-onnx: ## Test for long: write every model as an ONNX file, and compare onnxruntime's outputs with liana's (minutes; MODELS: only these)
	$(INSTALL_PEERS) onnx
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target test_onnxruntime
	$(BUILD)/test_onnxruntime $(MODELS)

check-serve: ## Test for long: ask liana serve 10,000 times while versions come and go and clients are killed: none is lost, the memory stays (minutes)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	sh tests/checks/test_serve_soak.sh $(BUILD) 10000

check-plan: ## Test for long: compare plans of clusters with measured steps, 2 and 4 workers at three bandwidths (root; nothing else should run; minutes)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	sh tests/checks/test_shaped_network.sh $(BUILD) --times

compare: ## Test for long: compare what BASE and this tree produce, to the byte: graphs, weights, messages (ONLY: some sections or cases; docs/explanation/building.md)
	$(call CONFIGURE,$(BUILD))
	scripts/compare_commits.sh $(if $(BASE),--base $(BASE)) --build $(BUILD) $(COMPARE_OPTIONS) $(ONLY)

bench-long: ## Measure: measure whether training keeps its speed over hundreds of epochs (nothing else should run)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	bench/bench_long.sh $(BUILD)

bench-data: ## Measure: measure the input pipeline, libjpeg-turbo and PyTorch's DataLoader (nothing else should run)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target bench_data
	bench/bench_data.sh $(BUILD)

format: ## Check the source: format every C file in place (clang-format 14)
	scripts/format.sh

check-format: ## Check the source: list the lines that are not formatted
	scripts/format.sh --check

check-includes: ## Check the source: check includes, circles, lengths of files and functions, first lines, and paths of one machine
	scripts/check_includes.sh

check-names: ## Check the source: check that a name means one thing
	scripts/check_names.sh

check-registry: ## Check the source: check that every file has its row, every row its file and a test
	scripts/check_registry.sh

docs: ## Documents: build the documents as pages with search, in $(BUILD)/docs (open $(BUILD)/docs/index.html)
	scripts/install-packages.sh --docs
	python3 -B scripts/site/site.py . $(BUILD)/docs

reference: ## Documents: write docs/reference anew, from the program's tables and headers (commit the changes)
	$(call CONFIGURE,$(BUILD))
	$(call COMPILE,$(BUILD)) --target liana
	python3 -B scripts/reference/reference.py --pages docs/reference include/liana $(BUILD)/liana

check-docs-long: ## Documents: run all commands of the documents, also those that take minutes or need the network
	tests/docs/test_docs.sh --long

install: ## Use: install into $(DESTDIR)$(PREFIX)
	$(call CONFIGURE,$(BUILD),-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	$(call COMPILE,$(BUILD)) --target liana_product
	DESTDIR=$(DESTDIR) $(call INSTALL,$(BUILD))

uninstall: ## Use: remove the files of the last `make install` (with the same DESTDIR)
	DESTDIR=$(DESTDIR) cmake --build $(BUILD) --target uninstall

# ---- packages and releases (docs/guides/releasing.md) ----
packages: ## Release: build the Debian packages liana, libliana1, libliana-dev, python3-liana and liana-doc, in $(BUILD)/packages, and check them with lintian
	$(PACKAGES) --packages
	scripts/packages.sh $(BUILD)/packages

check-packages: ## Release: install the packages in a bare Debian, use, upgrade and remove them (root; minutes; after make packages)
	scripts/check_packages.sh $(BUILD)/packages

tarball: ## Release: build a tarball that runs from any folder, in $(BUILD)/tarball
	scripts/tarball.sh $(BUILD)/tarball

check-tarball: ## Release: unpack the tarball elsewhere, and use it where nothing can be written (after make tarball)
	scripts/check_tarball.sh $(BUILD)/tarball

check-reproducible: ## Release: build packages and tarball twice, in other folders, as other users, and compare the bytes (long)
	scripts/check_reproducible.sh --folder $(BUILD)/reproducible

ABI_OPTIONS = -DCMAKE_BUILD_TYPE=Debug -DLIANA_KERNEL_OPTIMIZATION=-O0 -DLIANA_X86=OFF -DLIANA_TESTS=OFF -DLIANA_WASM=OFF -DBUILD_SHARED_LIBS=ON
abi-check: ## Release: compare the library's interface with the last release's (libabigail), in $(BUILD)-abi
	$(call CONFIGURE,$(BUILD)-abi,$(ABI_OPTIONS))
	$(call COMPILE,$(BUILD)-abi) --target liana_shared
	ABI_OPTIONS="$(ABI_OPTIONS)" JOBS=$(JOBS) scripts/check_abi.sh $(BUILD)-abi/libliana.so

abi-update: ## Release: write debian/libliana1.symbols anew, for a release
	$(call CONFIGURE,$(BUILD)-abi,$(ABI_OPTIONS))
	$(call COMPILE,$(BUILD)-abi) --target liana_shared
	scripts/symbols.sh $(BUILD)-abi/libliana.so >debian/libliana1.symbols.new
	mv debian/libliana1.symbols.new debian/libliana1.symbols

check-arm64: ## Test for long: build for arm64, and run the tests of base, ops and layers under qemu, in $(BUILD)-arm64 (long)
	$(PACKAGES) --arm64
	scripts/check_arm64.sh $(BUILD)-arm64

check-compilers: ## Test for long: build with gcc 11 and 12 and clang 14, 15, 16 and 19, where a warning is an error, in $(BUILD)-compilers (long)
	$(PACKAGES) --compilers
	JOBS=$(JOBS) scripts/check_compilers.sh $(BUILD)-compilers

check-first-page: ## Measure: measure a newcomer's way on two cores, from git clone in a bare Debian to the page of a trained run: below five minutes (root; nothing else should run)
	scripts/check_first_page.sh $(BUILD)/first-page

clean: ## Use: remove everything built
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-asan-plain $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-abi $(BUILD)-arm64 $(BUILD)-arm64-debian $(BUILD)-compilers $(BUILD)-gcc-* $(BUILD)-clang-*

comma := ,
