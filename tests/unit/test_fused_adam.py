"""Adam without the compiler, against torch's class."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from fossil.fused_adam import FusedAdam


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("eps", [1e-8, 1e-15])
def test_steps_are_those_of_torchs_class(dtype: torch.dtype, eps: float) -> None:
    generator = torch.Generator().manual_seed(1)
    start = [torch.randn(shape, generator=generator, dtype=dtype) for shape in ((3, 4), (5,))]
    mine, theirs = ([part.clone().requires_grad_() for part in start] for _ in range(2))
    ours = FusedAdam(mine, learning_rate=0.01, eps=eps)
    reference = torch.optim.Adam(theirs, lr=0.01, eps=eps, fused=True)
    for _ in range(20):
        for a, b in zip(mine, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=generator, dtype=dtype)
            b.grad = a.grad.clone()
        ours.step()
        reference.step()
    assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(mine, start, strict=True))


def test_a_step_does_not_import_the_compiler() -> None:
    script = (
        "import sys, torch; from fossil.fused_adam import FusedAdam; p = torch.ones(2); p.grad = torch.ones(2); "
        "FusedAdam([p], learning_rate=0.1).step(); print('torch._dynamo.utils' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
