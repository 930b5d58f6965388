"""colonnade -- a party's bottom as a program of one's own (model.program, docs/programs.md).

    from colonnade import Bottom, serve

    class Mine(Bottom):
        ...

    serve(Mine())

Needs the standard library and numpy; TorchBottom needs torch, which is imported when it is asked for.
SPDX-License-Identifier: Apache-2.0
"""

from .bottom import Bottom, Job
from .speech import serve

__all__ = ('Bottom', 'Dense', 'Job', 'TorchBottom', 'serve')


def __getattr__(name):
    if name == 'Dense':
        from .dense import Dense
        return Dense
    if name == 'TorchBottom':
        from .torch_bottom import TorchBottom
        return TorchBottom
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
