"""UDP datagrams as they arrive on lo, in a network namespace where nobody else's are (root)."""
import ctypes
import fcntl
import socket
import struct
import threading

CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8913, 0x8914, 1
ETH_P_IP, SO_ATTACH_FILTER, SO_RCVBUFFORCE = 0x0800, 26, 33
SOL_PACKET, PACKET_STATISTICS = 263, 6
PAYLOAD = 14 + 20 + 8  # behind the headers of Ethernet, IPv4 without options, UDP
KEEP = 1000  # datagrams of each size and SSID


def private_network():
    """Moves this process to a network namespace of its own with its lo up. PermissionError when
    it may not."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise PermissionError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def sampling_filter(sample):
    """A classic BPF program that lets the kernel keep UDP datagrams of STAMP whose sequence number
    is a multiple of `sample` (a power of two), and the replies to them: what Python could not read
    in time is not even queued. A reply is known by its T2 and carries the number at octet 24."""
    load_byte, load_word, if_equal, if_bits, jump, give = 0x30, 0x20, 0x15, 0x45, 0x05, 0x06
    program = [(load_byte, 0, 0, 23), (if_equal, 0, 7, socket.IPPROTO_UDP),
               (load_word, 0, 0, PAYLOAD + 16), (if_equal, 0, 2, 0),
               (load_word, 0, 0, PAYLOAD), (jump, 0, 0, 1),
               (load_word, 0, 0, PAYLOAD + 24),
               (if_bits, 1, 0, sample - 1), (give, 0, 0, 0xffffffff), (give, 0, 0, 0)]
    return b"".join(struct.pack("HBBI", *step) for step in program)


class Capture(threading.Thread):
    """Collects (source port, destination port, payload) of IPv4 datagrams between 127.0.0.1 and
    itself whose payload has one of `sizes`, the first KEEP of each size and SSID."""

    def __init__(self, sizes, sample=1):
        super().__init__(daemon=True)
        self.datagrams, self.sizes, self.kept, self.stopping = [], set(sizes), {}, False
        self.fault = None
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        program = sampling_filter(sample)
        steps = ctypes.create_string_buffer(program)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                               struct.pack("HL", len(program) // 8, ctypes.addressof(steps)))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.bind(("lo", ETH_P_IP))
        self.socket.settimeout(0.1)

    def run(self):
        while True:
            try:
                frame, origin = self.socket.recvfrom(1 << 17)
            except socket.timeout:
                if self.stopping:
                    return
                continue
            if origin[2] == socket.PACKET_HOST:  # lo shows each packet leaving and arriving
                self.take(frame)

    def take(self, frame):
        header, fragment = frame[14], struct.unpack_from("!H", frame, 20)[0]
        if header != 0x45 or fragment & 0x3fff != 0:
            self.fault = "an IPv4 packet with options or a fragment on lo"
        source, destination, length = struct.unpack_from("!HHH", frame, 34)
        payload = frame[PAYLOAD:PAYLOAD + length - 8]
        if frame[26:34] != b"\x7f\0\0\1" * 2 or len(payload) not in self.sizes:
            return
        name = (len(payload), payload[14:16])
        self.kept[name] = self.kept.get(name, 0) + 1
        if self.kept[name] <= KEEP:
            self.datagrams.append((source, destination, payload))

    def stop(self):
        """The datagrams, and how many frames this socket lost."""
        self.stopping = True
        self.join()
        statistics = self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        self.socket.close()
        assert self.fault is None, self.fault
        return self.datagrams, struct.unpack("II", statistics)[1]
