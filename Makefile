# make train   install what is missing, build, train FO-DP-SGD on Fashion-MNIST with its privacy statement
# make test    install what is missing, build, run every test
# make build   install what is missing, build: build/release/fodp
.PHONY: train test build bench sanitize torch2 format packages
JOBS ?= $(shell nproc)
OUT ?= runs/fashion-mnist-$(shell date +%Y%m%d-%H%M%S)

train: build
	@build/release/fodp train --method fo-dp-sgd --data fashion-mnist --model mlp --epsilon 3 --delta 1e-5 --out $(OUT)

build: packages
	@scripts/build release

test: packages
	@scripts/build release fodp_tests
	@scripts/test release

# What accounting costs against a plain implementation, and a private step against a plain one.
bench: packages
	@cmake --preset release -DFODP_BENCHMARKS=ON >/dev/null
	@cmake --build --preset release --target bench_accounting bench_step -j $(JOBS) >/dev/null
	@build/release/benchmarks/bench_accounting
	@OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 build/release/benchmarks/bench_step
	@OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 build/release/benchmarks/bench_step methods

# The suites under the sanitizers: everything under address and undefined, what does not enter LibTorch under thread.
sanitize: packages
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
