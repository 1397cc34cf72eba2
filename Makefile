# `make demo` trains a network in three modes; `make test` runs every test. Both install what is missing and build first.
# `make install PREFIX=DIR` installs what runs saved programs without Python.
# PRESET=dev|release|asan|tsan chooses the build (CMakePresets.json), JOBS the number of compile jobs.
PRESET ?= release
PY := .venv/bin/python
BUILD := build/$(PRESET)

.PHONY: demo test bench build docs setup format lint wheel install clean
.NOTPARALLEL:

demo: build
	$(PY) examples/fashion_mnist.py

test: setup
	@scripts/build.sh $(PRESET) tandem_tests tandem_cuda_tests
	PRESET=$(PRESET) scripts/test.sh

bench: build
	scripts/bench-env.sh
	$(PY) benchmarks/run.py

build: setup
	@scripts/build.sh $(PRESET)

setup:
	@scripts/bootstrap.sh

format: setup
	git ls-files '*.h' '*.hpp' '*.cpp' | xargs -r clang-format-22 -i
	.venv/bin/ruff format python examples benchmarks scripts tests ir/opgen

lint: setup
	scripts/lint.sh $(BUILD)

docs: build
	.venv/bin/python scripts/reference_page.py build/docs/operations.md

wheel: setup
	@scripts/wheel.sh

# libtandem_runtime, which runs saved programs, with headers, pkg-config and CMake files.
install: build
	cmake --install $(BUILD) --component runtime --prefix $(or $(PREFIX),/usr/local)

clean:
	rm -rf build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -f python/tandem/*.so
