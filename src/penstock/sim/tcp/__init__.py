"""TCP cross-traffic that competes for the links of a world.

A sender always has data to send. Windows are counted in segments of one size; there is no SACK,
no handshake and no flow control, because cross-traffic needs none of them. `newreno` and
`cubic` compute the window, `sender` decides what to send when, `receiver` what to acknowledge;
a `connection` attaches both ends to a link of a world, beside its other traffic.
"""

from penstock.sim.tcp.connection import Passing, TcpConnection, TcpCounts, TcpOptions
from penstock.sim.tcp.cubic import Cubic
from penstock.sim.tcp.newreno import NewReno
from penstock.sim.tcp.receiver import TcpReceiver
from penstock.sim.tcp.segments import Ack, Segment
from penstock.sim.tcp.sender import TcpSender

__all__ = [
    "Ack",
    "Cubic",
    "NewReno",
    "Passing",
    "Segment",
    "TcpConnection",
    "TcpCounts",
    "TcpOptions",
    "TcpReceiver",
    "TcpSender",
]
