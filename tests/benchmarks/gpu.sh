#!/usr/bin/env bash
# Checks and benchmarks on a machine with an NVIDIA GPU, in one command from the repository's root:
#
#     OUT=results/gpu bash tests/benchmarks/gpu.sh
#
# First whether the GPU computes what the CPU computes, then the ratios of weights, Meta-Weight-Net and bilevel weights.
# Writes a file for each into ${OUT:-.} and takes a few minutes. PYTHON names an interpreter with the project's packages.
set -uo pipefail

out=${OUT:-.}
python=${PYTHON:-python}
mkdir -p "$out" || exit 2
export OMP_NUM_THREADS=1 PYTHONPATH="workflow:.${PYTHONPATH:+:$PYTHONPATH}"

if [ ! -f tests/benchmarks/gpu.sh ]; then
    echo "gpu.sh: run it from the repository's root, not from $PWD" >&2
    exit 2
fi
if ! "$python" -c 'import pydantic, sklearn, timm, torch' 2> "$out/gpu-machine.txt"; then
    echo "gpu.sh: $python lacks a package of this project; see $out/gpu-machine.txt, or set PYTHON" >&2
    exit 2
fi
"$python" - > "$out/gpu-machine.txt" 2>&1 << 'END'
import sys
import torch

print("torch", torch.__version__, "built for CUDA", torch.version.cuda)
if not torch.cuda.is_available():
    sys.exit("torch finds no CUDA device")
print(torch.cuda.get_device_name(), torch.cuda.get_device_capability())
END
if [ "$?" -ne 0 ]; then
    echo "gpu.sh: this machine has no GPU that torch can use: $(tail -n 1 "$out/gpu-machine.txt")" >&2
    exit 3
fi
cat "$out/gpu-machine.txt"

failed=0
run() {  # name of the output, module, options
    local name=$1
    shift
    echo "== $name"
    timeout 150 "$python" -m "$@" --device cuda 2>&1 | tee "$out/gpu-$name.txt" || failed=1
}
run agreement tests.benchmarks.agreement
run weights tests.benchmarks.weights --samples 1000000 --compile
run meta-weight-net tests.benchmarks.meta_weight_net
run bilevel tests.benchmarks.bilevel
if [ "$failed" -ne 0 ]; then
    echo "gpu.sh: a check failed; see $out/gpu-*.txt" >&2
fi
exit "$failed"
