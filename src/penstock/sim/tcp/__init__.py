"""TCP as cross-traffic: real windows over packets, to share links with.

A sender always has something to send. Windows are counted in segments of one
size; there is no SACK, no handshake and no flow control, because cross-traffic
needs none of them. `newreno` and `cubic` decide how large the window is,
`sender` what is sent when, `receiver` what is acknowledged; a `connection` puts both
ends on a link of a world, beside what else goes there.
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
