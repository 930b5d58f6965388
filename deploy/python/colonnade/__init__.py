"""colonnade -- a party's bottom, or the server's head, as a program of one's own (docs/programs.md).

    from colonnade import Bottom, serve

    class Mine(Bottom):
        ...

    serve(Mine())

Needs the standard library and numpy; TorchBottom and TorchHead need torch, which is imported when they are asked
for.
SPDX-License-Identifier: Apache-2.0
"""

from .bottom import Bottom, Head, Job
from .speech import serve

__all__ = ('Bottom', 'Dense', 'DenseHead', 'Head', 'Job', 'TorchBottom', 'TorchHead', 'serve')


def __getattr__(name):
    if name in ('Dense', 'DenseHead'):
        from . import dense
        return getattr(dense, name)
    if name in ('TorchBottom', 'TorchHead'):
        from . import torch_bottom
        return getattr(torch_bottom, name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
