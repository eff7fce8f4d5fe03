#!/usr/bin/env python3
"""NCCL's all-reduce, all-to-all and pairwise rates over all GPUs of this machine, through PyTorch: what
the rates of gpuready's peers test are compared with. One process a GPU; needs torch.
    benchmarks/collectives.py [GIGABYTES]
Rates as nccl-tests counts them: bus bandwidth of each GPU, in bytes a second."""
import os
import sys

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # as gpuready runs it: no NVLink multicast

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def best_seconds(work, repeats=20):
    for _ in range(5):
        work()
    best = None
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        best = min(best or 1e9, start.elapsed_time(end) / 1e3)
    return best


def measure(rank, world, count):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29533", rank=rank, world_size=world,
                            device_id=torch.device("cuda", rank))
    source = torch.ones(count, dtype=torch.bfloat16, device="cuda")
    target = torch.empty_like(source)
    size = count * 2
    rates = {}
    rates["all-reduce"] = 2 * (world - 1) / world * size / best_seconds(lambda: dist.all_reduce(source))
    rates["all-to-all"] = (world - 1) / world * size / best_seconds(lambda: dist.all_to_all_single(target, source))
    rates["all-gather"] = (world - 1) / world * size / best_seconds(
        lambda: dist.all_gather_into_tensor(target, source[: count // world]))

    def exchange():
        peer = rank ^ 1
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, source, peer), dist.P2POp(dist.irecv, target, peer)]):
            work.wait()

    if world % 2 == 0:
        rates["exchange of pairs"] = size / best_seconds(exchange)
    slowest = torch.tensor(list(rates.values()), dtype=torch.float64, device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MIN)
    if rank == 0:
        for name, rate in zip(rates, slowest.tolist()):
            print(f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))} {name:18} {world} GPUs: {rate / 1e9:.1f} GB/s each", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    world = torch.cuda.device_count()
    count = int(gigabytes * 2**29) // (world * 1024) * world * 1024
    mp.spawn(measure, args=(world, count), nprocs=world)
