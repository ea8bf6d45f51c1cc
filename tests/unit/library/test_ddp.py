"""Eq. 1 in several processes: gradients and weights are those of one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from fossil import FossilWeights

N = 16
PROCESSES = 2
COUNTS = [10, 4, 2]
EPOCH = 2


class Indexed(Dataset):
    """Samples with the weights that Eq. 1 gives them from frozen scores."""

    def __init__(self) -> None:
        self.inputs, self.targets, self.copies = data()
        self.weights = weights_of()

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        one = self.targets[index : index + 1]
        weight = self.weights(one, difficulty=self.inputs[index : index + 1, 0].sigmoid())
        return self.inputs[index], self.targets[index], self.copies[index], weight.squeeze(0)


def data() -> tuple[Tensor, Tensor, Tensor]:
    inputs = torch.randn(N, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return inputs, torch.arange(3).repeat_interleave(torch.tensor(COUNTS)), torch.arange(N) % 3 == 0


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def weights_of() -> FossilWeights:
    weights = FossilWeights(COUNTS, epochs=5)
    for _ in range(EPOCH):
        weights.step()
    return weights


def backward(net: nn.Module, batch: tuple[Tensor, ...]) -> None:
    inputs, targets, copies, _ = batch
    logits = net(inputs)
    weights = weights_of()(targets, logits=logits, is_augmented=copies)
    (weights * cross_entropy(logits, targets, reduction="none")).mean().backward()


def train_shard(rank: int, folder: str) -> None:
    """One step of a process of its own, whose gradients go to a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES)
    net = DistributedDataParallel(model())
    dataset = Indexed()
    sampler = DistributedSampler(dataset, num_replicas=PROCESSES, rank=rank, shuffle=True, seed=3)
    (batch,) = DataLoader(dataset, batch_size=N // PROCESSES, sampler=sampler)
    backward(net, batch)
    torch.save([p.grad for p in net.parameters()], f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_gradients_of_two_processes_with_half_the_batch_each_are_those_of_one(tmp_path: Path) -> None:
    mp.spawn(train_shard, args=(str(tmp_path),), nprocs=PROCESSES)
    net = model()
    (batch,) = DataLoader(Indexed(), batch_size=N)
    backward(net, batch)
    for rank in range(PROCESSES):
        gradients = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        for found, parameter in zip(gradients, net.parameters(), strict=True):
            torch.testing.assert_close(found, parameter.grad, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_weights_computed_in_the_workers_of_a_data_loader_are_those_of_none() -> None:
    found = [
        torch.cat([batch[-1] for batch in DataLoader(Indexed(), batch_size=3, num_workers=workers)])
        for workers in (0, 2)
    ]
    assert torch.equal(*found)
    dataset = Indexed()
    assert torch.equal(found[0], weights_of()(dataset.targets, difficulty=dataset.inputs[:, 0].sigmoid()))
