#!/usr/bin/python3
"""gen_head.py -- heads with batch normalisation trained by PyTorch itself, in float64.

    /usr/bin/python3 tests/golden/gen_head.py > tests/golden/head.h    # python3-torch

Of a head [5, batchnorm, relu] under fusion sum, and of [batchnorm, 5, tanh] under max: the first
parameters in the order of a head's (weights in x out), what is fused, the targets, the gradient for
what is fused in the first of three steps of plain SGD on the mean cross entropy, the three losses,
the parameters after them, running moments among them, and the probabilities that they then give.

SPDX-License-Identifier: Apache-2.0
"""
import torch
from torch import nn

ROWS, PARTIES, WIDTH, OUTPUTS, STEPS, RATE = 6, 3, 4, 3, 3, 0.125
torch.manual_seed(20240613)
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def parameters(net):
    """Layer after layer: what a linear one has is turned, as a head's file has it."""
    out = []
    for layer in net:
        if isinstance(layer, nn.Linear):
            out += [layer.weight.T, layer.bias]
        elif isinstance(layer, nn.BatchNorm1d):
            out += [layer.weight, layer.bias, layer.running_mean, layer.running_var]
    return torch.cat([t.detach().flatten() for t in out])


def show(name, values, target=False):
    texts = ["%d" % v if target else "%.9g" % v for v in values.flatten().tolist()]
    texts = [t if target or "." in t or "e" in t else t + ".0" for t in texts]
    print("static const float %s[] = {" % name)
    for i in range(0, len(texts), 6):
        print("    " + " ".join(t + ("f," if not target else ",") for t in texts[i:i + 6]))
    print("};")


def single(t):
    return t.to(torch.float32).to(torch.float64)


def case(name, net, columns, fuse):
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(single(p + 0.3 * torch.randn_like(p)))
    fused = single(torch.randn(ROWS, columns)).requires_grad_()
    target = torch.randint(0, OUTPUTS, (ROWS,))
    step = torch.optim.SGD(net.parameters(), lr=RATE)
    show(name + "_first", parameters(net))
    show(name + "_fused", fused)
    show(name + "_target", target, target=True)
    losses = []
    net.train()
    for i in range(STEPS):
        step.zero_grad()
        fused.grad = None
        loss = nn.functional.cross_entropy(net(fuse(fused)), target)
        loss.backward()
        losses.append(loss.item())
        if i == 0:
            show(name + "_dfused", fused.grad)
        step.step()
    net.eval()
    show(name + "_losses", torch.tensor(losses))
    show(name + "_last", parameters(net))
    show(name + "_prob", torch.softmax(net(fuse(fused)), dim=1).detach())


print("/* head.h -- written by tests/golden/gen_head.py with PyTorch; do not edit.\n *\n"
      " * SPDX-License-Identifier: Apache-2.0\n */")
case("sum", nn.Sequential(nn.Linear(WIDTH, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, OUTPUTS)),
     WIDTH, lambda x: x)
case("max", nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, 5), nn.Tanh(), nn.Linear(5, OUTPUTS)),
     PARTIES * WIDTH, lambda x: x.reshape(ROWS, PARTIES, WIDTH).max(dim=1).values)
