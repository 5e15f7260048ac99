# make train   install what is missing, build, train FO-DP-SGD on Fashion-MNIST with its privacy statement
# make test    install what is missing, build, run every test
# make build   install what is missing, build: build/release/fodp
.PHONY: train test build bench fuzz sanitize torch2 format packages
JOBS ?= $(shell nproc)
OUT ?= runs/fashion-mnist-$(shell date +%Y%m%d-%H%M%S)

train: build
	@build/release/fodp train --method fo-dp-sgd --data fashion-mnist --model mlp --epsilon 3 --out $(OUT)

build: packages
	@scripts/build release

test: packages
	@scripts/install-packages $$(sed 's/#.*//' scripts/test-packages.txt)
	@scripts/build release fodp_tests
	@scripts/test release

# What accounting costs against a plain implementation, and a private step against a plain one.
bench: packages
	@cmake --preset release -DFODP_BENCHMARKS=ON >/dev/null
	@cmake --build --preset release --target bench_accounting bench_step -j $(JOBS) >/dev/null
	@build/release/benchmarks/bench_accounting
	@OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 build/release/benchmarks/bench_step
	@OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 build/release/benchmarks/bench_step methods
	@OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 build/release/benchmarks/bench_step features

# Looks for files on which a reader fails, SECONDS for each format (CONTRIBUTING.md); needs clang.
fuzz: SECONDS ?= 20
fuzz:
	@scripts/install-packages clang-14 libclang-rt-14-dev
	@scripts/build fuzz
	@scripts/fuzz $(SECONDS)

# The suites under the sanitizers: everything under address and undefined, what does not enter LibTorch under thread.
sanitize: packages
	@scripts/install-packages $$(sed 's/#.*//' scripts/test-packages.txt)
	@scripts/build asan fodp_tests
	@LSAN_OPTIONS=suppressions=$(CURDIR)/tests/leaks.supp:print_suppressions=0 scripts/test asan
	@scripts/build tsan fodp_tests
	@scripts/test tsan

# Builds and tests against a current LibTorch 2.x, from pip's wheel, in build/torch2.
torch2: packages
	@scripts/torch2

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

packages:
	@scripts/install-packages
