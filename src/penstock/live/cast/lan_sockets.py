"""The sockets of a cast on one network: a group to multicast to, and an address of one's own."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from errno import EADDRNOTAVAIL
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.datagram_trains import BUFFER_BYTES, Address, DatagramTrains

GROUP: Final = "239.255.74.52"
FIRST_PORT: Final = 7_452
LAST_PORT: Final = 7_472
_TTL: Final = 1


@dataclass(frozen=True, slots=True)
class LanAddress:
    """A group, the port that beacons go to, and the interface, as one of its addresses."""

    group: str = GROUP
    beacon_port: int = FIRST_PORT
    interface: str = "0.0.0.0"


def check_interface(lan: LanAddress) -> None:
    """Refuses an address that this machine does not have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((lan.interface, 0))
        except OSError as error:
            if error.errno != EADDRNOTAVAIL:
                raise
            raise UsageError(
                f"--interface {lan.interface} is no address of this machine: write one of those"
                " that 'ip address' shows"
            ) from None


def sender_socket(lan: LanAddress) -> DatagramTrains:
    """What a sender or router sends from and is answered at: the first free port of the range."""
    check_interface(lan)
    for port in [*range(FIRST_PORT + 1, LAST_PORT + 1), 0]:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sock.bind((lan.interface, port))
        except OSError:
            sock.close()
            continue
        _send_from(sock, lan)
        return DatagramTrains(sock)
    raise UsageError(f"no port is free on {lan.interface}: close another cast")


def receiver_socket(lan: LanAddress) -> DatagramTrains:
    """What a receiver answers from."""
    check_interface(lan)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((lan.interface, 0))
    _send_from(sock, lan)
    return DatagramTrains(sock)


def group_socket(lan: LanAddress, port: int) -> DatagramTrains:
    """Hears what is multicast to the group on a port; several programs of a host may."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((lan.group, port))
    request = socket.inet_aton(lan.group) + socket.inet_aton(lan.interface)
    try:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    except OSError as error:
        sock.close()
        raise UsageError(
            f"cannot join {lan.group} on {lan.interface}: {error.strerror}; name an interface"
            " with --interface"
        ) from None
    return DatagramTrains(sock)


def buffer_note(trains: DatagramTrains) -> str:
    """What to tell a person of the receive buffer; empty if it is as large as it should be."""
    if trains.buffer_bytes >= BUFFER_BYTES:
        return ""
    return (
        f"the system gives a receive buffer of {trains.buffer_bytes // 1024:,} KiB in place of"
        f" {BUFFER_BYTES // 1024:,} KiB: raise net.core.rmem_max, or more has to be repaired"
    )


def group_address(lan: LanAddress, port: int) -> Address:
    """Where a cast multicasts to: its own port, so that several share a network."""
    return lan.group, port


def _send_from(sock: socket.socket, lan: LanAddress) -> None:
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, _TTL)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
    if lan.interface != "0.0.0.0":
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(lan.interface))
