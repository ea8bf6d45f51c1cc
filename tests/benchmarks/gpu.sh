#!/usr/bin/env bash
# Checks and benchmarks on a machine with an NVIDIA GPU, in one command from the repository's root:
#
#     OUT=results/gpu bash tests/benchmarks/gpu.sh
#
# First whether the GPU computes what the CPU computes, then how fast each method trains ConvNeXt-Tiny, how far that is
# from the least that its steps take, and the ratios of weights, Meta-Weight-Net and bilevel weights. Writes a file for
# each into ${OUT:-.}, and speeds.csv, whose lines belong into workflow/speeds.csv: a dry run estimates a study's time
# from them. Ends within 8 minutes: a check that takes too long is given up. PYTHON names an interpreter with the
# project's packages.
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

limit=470 # seconds of all checks together
failed=0
run() {  # name of the output, seconds, module, options
    local name=$1 seconds=$2
    shift 2
    if [ "$seconds" -gt "$((limit - SECONDS))" ]; then seconds=$((limit - SECONDS)); fi
    echo "== $name"
    if [ "$seconds" -lt 5 ]; then
        echo "gpu.sh: no time left for $name" | tee "$out/gpu-$name.txt"
        failed=1
        return
    fi
    timeout -k 5 "$seconds" "$python" -m "$@" --device cuda 2>&1 | tee "$out/gpu-$name.txt" || failed=1
}
convnext=(--backbone convnext_tiny.fb_in1k --size 224 --batch 64)
run agreement 90 tests.benchmarks.agreement
run speeds 150 tests.benchmarks.speeds "${convnext[@]}" --images 1280 --out "$out"
run training 120 tests.benchmarks.training "${convnext[@]}" --images 960 --compile
run weights 90 tests.benchmarks.weights --samples 1000000 --compile
run meta-weight-net 60 tests.benchmarks.meta_weight_net --rounds 3
run bilevel 90 tests.benchmarks.bilevel
if [ "$failed" -ne 0 ]; then
    echo "gpu.sh: a check failed; see $out/gpu-*.txt" >&2
fi
exit "$failed"
