"""Weights and gradients sharded among processes: PyTorch's FSDP (`fully_shard`), layer by layer.

Each process holds its shard of every weight, and a layer is whole only while it computes: memory
for weights, gradients and optimizer falls with the number of processes, and communication grows.
All processes must call the network equally often, and give every trained weight a gradient.

`accelerate`'s FSDP plugin does the same only on GPUs, for an optimizer over the model's own
parameters, and averages gradients; `FlatOptimizer` has float32 masters of its own and needs sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.optim.distributed import Parallel

if TYPE_CHECKING:
    from torch.distributed.fsdp import FSDPModule


def check_sharding(settings: TrainingSettings, base: str) -> None:
    """Raises UserError for settings that sharded weights do not support."""
    if not settings.compute.shard_weights:
        return
    for wrong, hint in (
        (settings.compute.compile, "add --no-compile"),
        (settings.lora.method == "qlora", "use --method lora: 4-bit weights are small"),
        (settings.tower.minutes or base == "new", "a new model is small: leave it out"),
        (settings.optimizer.name == "muon", "Muon needs whole matrices: use adamw"),
    ):
        if wrong:
            raise UserError("--shard-weights does not support these settings", hint=hint)


def shard(network: nn.Module, parallel: Parallel) -> None:
    """Shards the network's weights in place, if there are several processes.

    Gradients are summed in float32, not averaged (see `trainer.step`).
    """
    if parallel.world == 1:
        return
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    device = next(network.parameters()).device.type
    mesh = init_device_mesh(device, (parallel.world,))
    policy = MixedPrecisionPolicy(reduce_dtype=torch.float32)
    for part in [*_layers(network), network]:
        fully_shard(part, mesh=mesh, mp_policy=policy)
    network(lambda: ())  # FSDP initializes lazily, and leaves the root unsharded
    for module in _divided(network):
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
        module.reshard()


def is_divided(network: nn.Module) -> bool:
    return bool(_divided(network))


def local(parameter: torch.Tensor) -> torch.Tensor:
    """This process's shard of a weight or gradient, all of it if unsharded."""
    from torch.distributed.tensor import DTensor

    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


@contextmanager
def whole(network: nn.Module, parallel: Parallel) -> Iterator[None]:
    """Gathers the network in the first process, which alone may compute with it and write it."""
    modules = _divided(network)
    hooked = [part for part in network.modules() if modules and part._state_dict_pre_hooks]
    hooks = [part._state_dict_pre_hooks.copy() for part in hooked]
    for part in hooked:
        part._state_dict_pre_hooks.clear()  # they would reshard the weights to write
    for module in modules:
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
        if not parallel.first:
            module.reshard()
    try:
        yield
    finally:
        for part, before in zip(hooked, hooks, strict=True):
            part._state_dict_pre_hooks.update(before)
        for number, module in enumerate(modules):  # the root is first and stays whole
            module.set_reshard_after_forward(number > 0, recurse=False)
        if modules:  # reshards, and drops the state of what the first process computed alone
            modules[0].reset_iter_state()


def _layers(network: nn.Module) -> list[nn.Module]:
    """The layers of language model and tower: members of lists called `layers` or `blocks`."""
    return [
        layer
        for name, part in network.named_modules()
        if isinstance(part, nn.ModuleList) and name.rpartition(".")[2] in ("layers", "blocks")
        for layer in part
    ]


def _divided(network: nn.Module) -> list[FSDPModule]:
    """The sharded modules, the network itself first."""
    if not torch.distributed.is_available():
        return []
    from torch.distributed.fsdp import FSDPModule

    return [module for module in network.modules() if isinstance(module, FSDPModule)]
