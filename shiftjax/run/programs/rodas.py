"""The table of Rodas5P: order 5 with an embedded method of order 4, eight stages, stiffly accurate.

Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential
Equations package, BIT Numerical Mathematics 63 (2023) 27. In the form of Hairer, Wanner, Solving Ordinary Differential
Equations II, IV.7, equation 7.25.

Chosen by its steps. A chain of three links, closed by 8e5 N/m and 4e4 N s/m, takes for 2 s at 1e-8 939 of them with a
damper of 2 N m s/rad in its first joint, 905 with 0.2; Rodas4 956 and 5 047, Rodas4P2 1 169 and 1 932, ROS34PW2, which
allows any approximation of the Jacobian, 1 892 and 3 112.
"""

from __future__ import annotations

from typing import NamedTuple


class RosenbrockTable(NamedTuple):
    """The arguments of `step_program.rosenbrock`."""

    gamma: float
    A: tuple[tuple[float, ...], ...]
    C: tuple[tuple[float, ...], ...]
    m: tuple[float, ...]
    error: tuple[float, ...]


_LAST = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
RODAS5P = RosenbrockTable(
    gamma=0.21193756319429014,
    A=(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _LAST,
        (*_LAST, 1.0),
        (*_LAST, 1.0, 1.0),
    ),
    C=(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
         -28.087943162872662),
        (37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
         -54.66780262877968, -9.48861652309627),
    ),
    m=(*_LAST, 1.0, 1.0, 1.0),
    error=(0.0,) * 7 + (1.0,),
)  # fmt: skip
