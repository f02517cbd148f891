"""The Python client of troupe: runs shell commands as supervised jobs of the daemon.

    import troupe

    daemon = troupe.connect()
    result = daemon.run("make test", timeout=600)
    print(result.outcome, result.exit_code, result.text)

A command that is a list is a program and its arguments; one that is a string is text for a shell.
Times are seconds. All of it is safe for concurrent use by threads. The methods come back to the
next daemon by themselves, with the same job and at the same byte, within 15 seconds.

The order of this file: errors and values; connections; finding and starting the daemon; Client;
Job; outputs; events; Session; attachments.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import select
import shutil
import socket as _socket
import stat
import struct
import subprocess
import sys
import threading
import time
import weakref
from typing import (
    TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, TypedDict, TypeVar, Union,
)
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Attachment", "Cancel", "Client", "Error", "Events", "Follow", "Gap", "Job", "Options", "Output", "Record", "Result", "Session", "connect"]
__version__ = "0.1.0"

Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Command = Union[str, bytes, Sequence[Text]]
T = TypeVar("T")


class Error(Exception):
    """A refusal or a failure: code and reason are for programs, message and hint for people.

    The codes are those of the API. The client adds cancelled (by a Cancel), timed_out (a wait) and,
    with run(check=True), the outcome of the job. record is the job's, if the error is about its end
    or its output. output and stderr are what was kept of an output with a gap, or what the command of
    run(check=True) has written; their gaps are the ranges that were not kept.
    """

    def __init__(self, code: str, reason: str, message: str, hint: str = "", record: Optional["Record"] = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.hint, self.record = code, reason, message, hint, record
        self.output: Optional[Output] = None
        self.stderr: Optional[Output] = None

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class _Broken(Error):
    """The connection to the daemon broke, or the daemon is about to end."""

    def __init__(self, why: object = "") -> None:
        super().__init__("internal", "daemon", "the connection to the daemon broke" + (f": {why}" if why else ""), "the daemon's log says why it ended; its background jobs run on")


class _NoDaemon(_Broken):
    """No daemon listens. One that was killed has left its socket; one that ended in order has removed it."""

    def __init__(self, where: str, killed: bool) -> None:
        super().__init__()
        self.killed = killed
        self.code, self.message, self.hint = "not_found", "no daemon at " + where, "start one with troupe serve or troupe run -b"
        self.args = (self.message,)


class Record(Dict[str, Any]):
    """An object of the API, such as the record of a job: record["state"] and record.state are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Gap(NamedTuple):
    """A range of an output that was not kept: the first byte, and the first one after it."""

    start: int
    end: int


class Output(bytes):
    """The bytes of a stream, without its gaps."""

    gaps: List[Gap]
    start: int  # the offset of the first byte
    end: int  # the offset after the last byte

    @property
    def text(self) -> str:
        """The bytes as UTF-8; what is not is U+FFFD."""
        return self.decode("utf-8", "replace")


def _output(data: bytes, gaps: List[Gap], start: int, end: int) -> Output:
    out = Output(data)
    out.gaps, out.start, out.end = gaps, start, end
    return out


class Result:
    """The end of a run: the record of the job, and what it has written.

    output is stdout and stderr in the order of their arrival, or stdout alone with streams="separate".
    truncated says that the beginning of an output over the given `capture` is not here: job.follow() has it.
    """

    def __init__(self, job: "Job", record: Record, output: Output, stderr: Output) -> None:
        self.job, self.record, self.output, self.stderr = job, record, output, stderr

    @property
    def outcome(self) -> Optional[str]:
        return self.record["outcome"]

    @property
    def exit_code(self) -> Optional[int]:
        return self.record["exit_code"]

    @property
    def ok(self) -> bool:
        """Whether the command exited with 0."""
        return self.outcome == "exited" and self.exit_code == 0

    @property
    def text(self) -> str:
        return self.output.text

    @property
    def truncated(self) -> bool:
        return self.output.start > 0 or self.stderr.start > 0

    def check(self) -> "Result":
        """Return the result of a command that exited with 0, or went to the background; else raise Error."""
        if self.ok or self.outcome is None:
            return self
        if self.outcome == "failed_to_start":
            raise _not_started(self.record)
        cause = self.record["cause"] or {}
        how = f"exited with {self.exit_code}" if self.outcome == "exited" else f"ended: {self.outcome}"
        raise self._error(Error(str(self.outcome), str(cause.get("by", "")), f"the command {how}", ""))

    def _error(self, err: Error) -> Error:
        err.record, err.output, err.stderr = self.record, self.output, self.stderr
        return err

    def _whole(self) -> "Result":
        """Return the result if nothing in its outputs is missing; else raise Error, which has the rest."""
        if self.output.gaps or self.stderr.gaps:
            raise self._error(_gap())
        return self

    def __repr__(self) -> str:
        return f"<Result of {self.record['id']}: {self.outcome} {self.exit_code}>"


def _not_started(record: Record) -> Error:
    why = record["error"] or Record(code="spawn_failed", message="the command could not be started")
    return Error(why["code"], why.get("reason", ""), why["message"], why.get("hint", ""), record)


def _gap() -> Error:
    hint = "the error has what was kept; raise max_output of the command, or read with follow(), which names the gaps"
    return Error("output_unavailable", "gap", "a part of the output was not kept", hint)


def _too_large(most: int) -> Error:
    return Error("too_large", "output", f"the output has more than {most} bytes", "read it with follow(), or give another bound")


class Cancel:
    """Ends runs and waits from another thread: pass one as cancel=, then call cancel()."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wires: Set["_Wire"] = set()
        self._event = threading.Event()

    def cancel(self) -> None:
        """End every call that has this Cancel. A run in the foreground is stopped with all its processes, and raises when they have ended."""
        with self._lock:  # a connection that is given back can serve another request
            self._event.set()
            for wire in self._wires:
                wire.abort()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def _check(self) -> None:
        if self._event.is_set():
            raise Error("cancelled", "client", "the call was cancelled")

    @contextlib.contextmanager
    def _watch(self, wire: "_Wire") -> Iterator[None]:
        with self._lock:
            self._check()
            self._wires.add(wire)
        try:
            yield
        finally:
            with self._lock:
                self._wires.discard(wire)


class Options(TypedDict, total=False):
    """What run and spawn take beside the command. RunCommand in openapi.yaml says more of each field."""

    cwd: Text  # os.getcwd()
    env: Mapping[str, str]  # variables to set
    env_policy: str  # below them: caller (os.environ, the default), allow, agent or clean
    shell: str  # of a command text
    name: str
    description: str
    tag: str
    scope: str  # that of the job around this process, else main
    replace: bool  # stop the live job of that name first
    timeout: float
    idle_timeout: float
    grace: float  # from TERM to KILL
    promote_after: float  # the foreground budget
    stop_signal: str
    on_exit: str  # adopt, keep or kill
    on_finish: Sequence[str]
    streams: str  # merged or separate
    stdin: str  # null or pipe; run(input=...) sets it
    terminal: Tuple[int, int]  # rows and columns
    max_output: Union[int, Mapping[str, Any]]
    umask: str
    limits: Mapping[str, Any]
    durability: str
    persist: bool
    detached: bool  # spawn: in a keeper of its own
    log_file: Text  # of a detached job
    key: str  # idempotency key


# Connections: HTTP/1.1 over a socket. http.client drops the trailers that say where an output ends, and
# takes a 102 for the reply.

_RETURN = 15.0  # how long a request looks for the next daemon: a job in the foreground lives as long without its client
_LOSS = 2.0  # in which a daemon sees that a connection has gone
_STRAY = _RETURN + 1.0  # in which the next daemon stops a job whose client has not returned
_STOP_PATIENCE = 30.0  # for a stop, beyond the grace
_GRACE = 5.0  # the default of grace
_EVENTS_RETURN = 30.0
_RETRY_FIRST, _RETRY_MOST = 0.05, 0.5
_SERVICE_FIRST = 1.0  # how long a service manager has to start the next daemon before the client does
_ROOM_FIRST, _ROOM_MOST, _ROOM_PATIENCE = 0.02, 0.25, 60.0  # while the daemon has no room for a request
_ANSWER_PATIENCE = 30.0  # for the first answer of a daemon, which may have to restore jobs
_START_PATIENCE = 10.0
_WAY_PATIENCE = 3.0  # from the lock of a daemon to its socket
_IDLE_MOST, _IDLE_FOR = 8, 10.0  # connections that are kept
_CHUNK = 64 << 10
_MAX_HEADER = 1 << 20
_MAX_INPUT = 256 << 10  # bytes of one input request
_CAPTURE = 16 << 20  # bytes that output() and run() return at most, unless a bound is given


class _Wire:
    """A connection that serves one request at a time."""

    def __init__(self, sock: _socket.socket) -> None:
        self.sock, self.buf, self.since = sock, bytearray(), 0.0

    def close(self) -> None:
        self.sock.close()

    def abort(self) -> None:
        """End the connection while another thread reads it."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(_socket.SHUT_RDWR)

    def quiet(self) -> bool:
        """Return whether neither bytes nor the end followed the last reply."""
        try:
            self.sock.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return not self.buf
        except OSError:
            pass
        return False

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError as err:
            raise _Broken(err) from err

    def fill(self) -> None:
        try:
            data = self.sock.recv(_CHUNK)
        except OSError as err:
            if isinstance(err, (ConnectionResetError, BrokenPipeError)):
                raise _Broken() from err
            raise _Broken(err) from err
        if not data:
            raise _Broken()
        self.buf += data

    def line(self) -> bytes:
        """Read a line, without its end."""
        at = self.buf.find(b"\n")
        while at < 0:
            if len(self.buf) > _MAX_HEADER:
                raise _foreign("a line of its header is too long")
            done = len(self.buf)
            self.fill()
            at = self.buf.find(b"\n", done)
        line = bytes(self.buf[:at])
        del self.buf[:at + 1]
        return line.rstrip(b"\r")

    def some(self, most: int) -> bytes:
        """Read at least one byte, and at most `most`."""
        if not self.buf:
            self.fill()
        data = bytes(self.buf[:most])
        del self.buf[:most]
        return data

    def exactly(self, n: int) -> bytes:
        while len(self.buf) < n:
            self.fill()
        return self.some(n) if n else b""

    def headers(self) -> Dict[str, str]:
        found: Dict[str, str] = {}
        while True:
            line = self.line()
            if not line:
                return found
            if len(found) > 100:
                raise _foreign("it has too many headers")
            name, _, value = line.decode("latin-1").partition(":")
            found[name.strip().lower()] = value.strip()


def _foreign(why: str) -> Error:
    return Error("internal", "reply", "the reply did not come from a troupe daemon: " + why)


class _Reply:
    """The reply of a request: its head, and its body as it arrives."""

    def __init__(self, wire: _Wire, give_back: Callable[[_Wire], None]) -> None:
        self.wire, self._give_back = wire, give_back
        words = wire.line().split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise _foreign("it begins with another line than one of HTTP/1.1")
        self.status = int(words[1])
        self.headers = wire.headers()
        self.trailers: Dict[str, str] = {}
        self._over = self.status < 200 or self.status in (204, 304)
        self._chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        length = self.headers.get("content-length", "")
        self._left = 0 if self._chunked else int(length) if length.isdigit() else -1
        self._lock = threading.Lock()

    def _end(self) -> None:
        with self._lock:
            self._over = True
        if self._left >= 0 and self.headers.get("connection", "").lower() != "close":
            self._give_back(self.wire)
        else:
            self.wire.close()

    def some(self) -> bytes:
        """Read the next bytes of the body; b"" is its end."""
        if self._over:
            return b""
        if self._left == 0 and not self._chunked:
            self._end()
            return b""
        try:
            if self._chunked and self._left == 0 and not self._chunk():
                return b""
            if self._left < 0:  # up to the end of the connection
                try:
                    return self.wire.some(_CHUNK)
                except _Broken:
                    self._end()
                    return b""
            data = self.wire.some(min(self._left, _CHUNK))
            self._left -= len(data)
            if self._chunked and self._left == 0:
                self.wire.line()
            elif self._left == 0:
                self._end()
            return data
        except BaseException:
            self.close()
            raise

    def _chunk(self) -> bool:
        """Read the head of the next chunk; the last one has none after it."""
        try:
            self._left = int(self.wire.line().split(b";")[0], 16)
        except ValueError:
            raise _foreign("a chunk has no size") from None
        if self._left == 0:
            self.trailers = self.wire.headers()
            self._end()
        return self._left > 0

    def read(self) -> bytes:
        parts = []
        while True:
            part = self.some()
            if not part:
                return b"".join(parts)
            parts.append(part)

    def close(self) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
        self.wire.close()

    def abort(self) -> None:
        """End the reply while another thread reads it. Its connection is not another request's yet."""
        with self._lock:
            if not self._over:
                self.wire.abort()


class _Absence:
    """The time without a daemon that one request has met."""

    def __init__(self, client: "Client", cancel: Optional[Cancel], patience: float = _RETURN) -> None:
        self._client, self._cancel, self._patience = client, cancel, patience
        self._first: Optional[Error] = None
        self._began = self._back = 0.0
        self._wait = _RETRY_FIRST

    @property
    def begun(self) -> bool:
        """Whether the request has been without a daemon."""
        return self._first is not None

    def arrived(self) -> None:
        """Note that the next daemon has answered."""
        self._back = time.monotonic()

    def next(self, err: Error) -> None:
        """Wait before the next try of a request that failed with err, or raise the error of one that is not tried again.

        A daemon that was killed is replaced. One that ended in order stays away until a new call.
        """
        if self._cancel is not None:
            self._cancel._check()
        if not _left(err):
            raise err
        now = time.monotonic()
        if self._first is None or self._back and now - self._back > _RETRY_MOST:
            self._first, self._began, self._wait = err, now, _RETRY_FIRST
        self._back = 0.0
        if now - self._began > self._patience:
            raise self._first
        if isinstance(err, _NoDaemon) and err.killed and now - self._began > _SERVICE_FIRST:
            with contextlib.suppress(Error):  # it waits for the daemon that another process starts
                self._client._start()
        _pause(self._wait, self._cancel)
        self._wait = min(2 * self._wait, _RETRY_MOST)


def _pause(seconds: float, cancel: Optional[Cancel]) -> None:
    if cancel is None:
        time.sleep(seconds)
    else:
        cancel._event.wait(seconds)
        cancel._check()


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[Cancel]:
    """Give a Cancel that ends its calls after a time."""
    patience = Cancel()
    timer = threading.Timer(seconds, patience.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield patience
    finally:
        timer.cancel()


def _is(err: Error, code: str, reason: str) -> bool:
    return err.code == code and err.reason == reason


def _full(err: Error) -> bool:
    """Return whether the daemon has no room now: it has not begun the request, which may be sent again."""
    if err.code == "busy":
        return err.reason in ("", "replace")  # other reasons are about one job
    return err.code == "queue_full" or _is(err, "resource_exhausted", "connections") or _is(err, "resource_exhausted", "rate")


def _left(err: Error) -> bool:
    """Return whether an error means that the daemon has ended or is about to."""
    return isinstance(err, _Broken) or err.code == "shutting_down"


def _refusal(status: int, body: bytes) -> Error:
    try:
        e = json.loads(body)["error"]
        return Error(str(e["code"]), str(e.get("reason", "")), str(e["message"]), str(e.get("hint", "")))
    except (ValueError, KeyError, TypeError):
        return _foreign(f"it has the status {status}")


def _decode(body: bytes) -> Record:
    try:
        found = json.loads(body, object_hook=Record)
    except ValueError:
        found = None
    if not isinstance(found, Record):
        raise _foreign("its body is not an object of JSON")
    return found


def _text(value: Text) -> Union[str, Dict[str, str]]:
    """Return a text for a request: one that is not UTF-8 is in base64."""
    value = os.fspath(value)
    try:
        if isinstance(value, str):
            value.encode()
            return value
        return value.decode()
    except UnicodeEncodeError:
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    except UnicodeDecodeError:
        data = value if isinstance(value, bytes) else b""
    return {"base64": base64.b64encode(data).decode()}


def _ms(seconds: float) -> int:
    return max(int(round(seconds * 1000)), 1 if seconds > 0 else 0)


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def _ulid() -> str:
    n = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[n >> shift & 31] for shift in range(125, -1, -5))


# Finding the daemon, as the command line does (docs/cli.md), and starting it.


class _Settings(NamedTuple):
    socket: str
    state: str  # "": there is no place for one
    idle_exit: str
    named: bool  # the socket is not the default one


def _settings(socket: Optional[str], state: Optional[str]) -> _Settings:
    found = _read_config()
    usual = _usual_socket()
    path = socket or os.environ.get("TROUPE_SOCKET") or found.get("socket") or usual
    where = state or os.environ.get("TROUPE_STATE") or found.get("state") or _home("XDG_STATE_HOME", ".local/state")
    return _Settings(os.path.abspath(path), os.path.abspath(where) if where else "", found.get("idle_exit", "10m"), path != usual)


def _usual_socket() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "troupe", "daemon.sock")
    tmp = os.environ.get("TMPDIR", "")
    return os.path.join(tmp if os.path.isabs(tmp) else "/tmp", f"troupe-{os.geteuid()}", "daemon.sock")


def _home(variable: str, otherwise: str) -> str:
    """Return troupe's directory below that of a variable, or below HOME; "": there is neither."""
    if os.path.isabs(os.environ.get(variable, "")):
        return os.path.join(os.environ[variable], "troupe")
    home = os.environ.get("HOME", "")
    return os.path.join(home, otherwise, "troupe") if os.path.isabs(home) else ""


def _read_config() -> Dict[str, str]:
    """Read where the daemon is from the configuration. The program checks the rest of the file."""
    named = os.environ.get("TROUPE_CONFIG", "")
    home = _home("XDG_CONFIG_HOME", ".config")
    if not named and not home:
        return {}
    path = named or os.path.join(home, "config.toml")
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_mode & stat.S_IWOTH or info.st_uid not in (0, os.geteuid()):
                raise Error("refused", "config", f"other users can write the configuration {path}", "it must belong to you or to root, and others must not write it")
            text = file.read(1 << 20).decode("utf-8", "replace")
    except FileNotFoundError as err:
        if named:
            raise Error("invalid_params", "config", f"the configuration {path} cannot be read: {err.strerror}", "set TROUPE_CONFIG to a file that exists, or unset it") from err
        return {}
    except OSError as err:
        raise Error("invalid_params", "config", f"the configuration {path} cannot be read: {err.strerror}", "set HOME or XDG_CONFIG_HOME to a directory of yours") from err
    return {name: value for name, value in _toml(text).items() if name in ("socket", "state", "idle_exit") and isinstance(value, str)}


def _toml(text: str) -> Dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as err:
            raise Error("invalid_params", "config", f"the configuration is wrong: {err}") from err
    top = re.split(r"(?m)^\s*\[", text)[0]  # before 3.11 Python cannot read TOML; these settings stand in lines of their own
    found = {}
    for m in re.finditer(r"""(?m)^[ \t]*(\w+)[ \t]*=[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')""", top):
        found[m[1]] = m[3] if m[3] is not None else json.loads(f'"{m[2]}"')
    return found


# A child that is made by fork has copies of our descriptors, and a lease lasts as long as any copy of its
# connection: the child closes them. A fork waits until a descriptor that is being made is known here.
_fork_lock = threading.Lock()
_descriptors: "weakref.WeakSet[Any]" = weakref.WeakSet()
_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _ours(make: Callable[[], Tuple[Any, ...]]) -> Tuple[Any, ...]:
    """Make sockets or files that a child closes."""
    with _fork_lock:
        made = make()
        for one in made:
            _descriptors.add(one)
        return made


def _forked() -> None:
    """Close in a child what its parent has opened, and forget the locks of threads that are not here."""
    for one in list(_descriptors):
        with contextlib.suppress(OSError):
            one.close()
    for client in list(_clients):
        client._anew()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork_lock.acquire, after_in_parent=_fork_lock.release, after_in_child=_forked)


def _new_socket(family: int) -> _socket.socket:
    try:
        return _ours(lambda: (_socket.socket(family, _socket.SOCK_STREAM),))[0]
    except OSError as err:
        if err.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        raise Error("resource_exhausted", "descriptors", f"no connection to the daemon can be opened: {err.strerror}", "raise the limit of open files (ulimit -n) of this process") from err


def _dial_unix(path: str) -> _Wire:
    address = os.fsencode(path)
    if len(address) > 107:
        raise Error("invalid_params", "socket", f"the socket path has {len(address)} bytes, and a unix socket's has at most 107: {path}", "choose a shorter one")
    sock = _new_socket(_socket.AF_UNIX)
    try:
        sock.settimeout(_ANSWER_PATIENCE)  # a full queue is an error then, instead of a wait
        sock.connect(address)
        sock.settimeout(None)
        owner = _peer(sock)
        if owner not in (None, os.geteuid()):
            raise Error("refused", "peer", f"the other end of the socket {path} belongs to user {owner}", "each user has a daemon and a socket of their own")
        return _Wire(sock)
    except (FileNotFoundError, ConnectionRefusedError) as err:
        sock.close()
        raise _NoDaemon(path, isinstance(err, ConnectionRefusedError)) from err
    except BlockingIOError as err:
        sock.close()
        raise Error("resource_exhausted", "connections", "too many clients wait for a connection to the daemon at " + path, "try again soon, or set limits.connections higher") from err
    except (PermissionError, NotADirectoryError) as err:
        sock.close()
        raise Error("refused", "socket", f"the socket {path} cannot be reached: {err.strerror}", "set TROUPE_SOCKET, or XDG_RUNTIME_DIR, to a place of your own") from err
    except OSError as err:
        sock.close()
        raise _Broken(err) from err
    except BaseException:
        sock.close()
        raise


def _peer(sock: _socket.socket) -> Optional[int]:
    """Return the user at the other end; None: the system does not say."""
    if hasattr(_socket, "SO_PEERCRED"):
        return struct.unpack("3i", sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))[1]
    if sys.platform == "darwin":
        return struct.unpack("2I", sock.getsockopt(0, 1, 76)[:8])[1]  # LOCAL_PEERCRED: an xucred
    return None


def _daemon_environment() -> Dict[str, str]:
    """Return the part of our environment that a daemon needs: secrets must not reach its jobs."""
    names = ("PATH", "HOME", "LANG", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", "TROUPE_CONFIG")
    return {k: v for k, v in os.environ.items() if k in names or k.startswith(("LC_", "XDG_"))}


def _spawn_daemon(program: str, at: _Settings, log: str, report: int) -> "subprocess.Popen[bytes]":
    """Start troupe serve, which writes its report to a descriptor."""
    try:
        out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                ["troupe", "serve", "--socket", at.socket, "--state", at.state, "--idle-exit", at.idle_exit, "--ready-fd", str(report), "--detach"], executable=program,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/", env=_daemon_environment(), pass_fds=[report], start_new_session=True)
        finally:
            os.close(out)
    except OSError as err:
        raise Error("internal", "daemon", f"cannot start the daemon: {err}", "") from err


def _launch(program: str, at: _Settings) -> None:
    """Start the daemon outside of our process tree, and return when it is ready."""
    log = os.path.join(at.state, "daemon.log")
    ready, report = _ours(lambda: tuple(os.fdopen(fd, mode, 0) for fd, mode in zip(os.pipe(), ("rb", "wb"))))
    with ready:
        with report:
            process = _spawn_daemon(program, at, log, report.fileno())
        process.wait()  # it has started the daemon by then, or its report says why not
        text, until = b"", time.monotonic() + _START_PATIENCE
        while True:
            if not select.select([ready], [], [], max(until - time.monotonic(), 0))[0]:
                raise Error("busy", "daemon", f"the daemon was not ready within {_START_PATIENCE:.0f} s", f"see {log}")
            part = os.read(ready.fileno(), _CHUNK)
            if not part:
                break
            text += part
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError):
        raise Error("internal", "daemon", "the daemon exited before it was ready", "see " + log) from None
    if error:
        raise _refusal(0, text)


@contextlib.contextmanager
def _start_lock(state: str) -> Iterator[None]:
    """Hold the lock of processes that start the daemon of a state directory."""
    path = os.path.join(state, "start.lock")
    lock, = _ours(lambda: (os.fdopen(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb", 0),))
    with lock:
        until = time.monotonic() + _START_PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as err:
                if err.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            if time.monotonic() > until:
                raise Error("busy", "daemon", "another process did not finish the start of the daemon", "retry")
            time.sleep(_ROOM_FIRST)
        yield


def connect(
    url: Optional[str] = None, token: Optional[str] = None, *, socket: Optional[str] = None, state: Optional[str] = None, program: str = "troupe", start: bool = True,
) -> "Client":
    """Connect to the daemon of this user, and start it if there is none, as `troupe run -b` does.

    socket and state say where it listens and keeps its state, in place of the configuration and the
    environment; program is the troupe that starts it, a path or a name on PATH; start=False starts
    none. With a url such as http://127.0.0.1:7420 and the token of its state directory the daemon is
    the one at that port.
    """
    if url is not None:
        client = Client(None, _port(url, token), "", False)
    else:
        client = Client(_settings(socket, state), None, program, start)
    client._greet()
    return client


def _port(url: str, token: Optional[str]) -> Tuple[str, int, str]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "http" or port is None or parts.path not in ("", "/") or not (host == "::1" or host.startswith("127.")):
        raise Error("invalid_params", "url", f"invalid url {url!r}", "use the loopback address of the daemon, as http://127.0.0.1:7420")
    if not token:
        raise Error("invalid_params", "token", "a url needs a token", "it is in the file token of the daemon's state directory")
    return host, port, token


class Client:
    """A connection to the daemon, and to the daemon after it. connect() makes one."""

    def __init__(self, at: Optional[_Settings], port: Optional[Tuple[str, int, str]], program: str, start: bool) -> None:
        self._at, self._port, self._program, self._starts = at, port, program, start and at is not None
        self._lock, self._start_one = threading.Lock(), threading.Lock()
        self._idle: List[_Wire] = []
        _clients.add(self)

    def _anew(self) -> None:
        """Begin without the connections and locks of the process that has forked this one."""
        self._lock, self._start_one, self._idle = threading.Lock(), threading.Lock(), []

    # Connections.

    def _dial(self) -> _Wire:
        if self._port is not None:
            host, port, _ = self._port
            sock = _new_socket(_socket.AF_INET6 if ":" in host else _socket.AF_INET)
            try:
                sock.settimeout(_ANSWER_PATIENCE)
                sock.connect((host, port))
            except OSError as err:
                sock.close()
                raise _NoDaemon(f"{host}:{port}", True) if isinstance(err, ConnectionRefusedError) else _Broken(err) from err
            sock.settimeout(None)
            sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return _Wire(sock)
        assert self._at is not None
        try:
            return _dial_unix(self._at.socket)
        except Error as err:
            second = os.path.join(self._at.state, "daemon.sock") if self._at.state else ""
            unreachable = isinstance(err, _NoDaemon) or (err.code, err.reason) in (("refused", "socket"), ("refused", "peer"), ("invalid_params", "socket"))
            if not unreachable or second in ("", self._at.socket):
                raise
            try:
                return _dial_unix(second)
            except Error as other:
                if isinstance(other, _NoDaemon) and not isinstance(err, _NoDaemon) and not self._at.named:
                    raise other  # one can be started
                if isinstance(other, _NoDaemon) and isinstance(err, _NoDaemon):
                    err.killed = err.killed or other.killed
                raise err from None

    def _start(self) -> None:
        """Start a daemon, if this client may and there is none. Of several threads and processes one does."""
        if not self._starts:
            return
        assert self._at is not None
        with self._start_one:
            if self._listens():
                return
            program = shutil.which(self._program)
            if program is None:
                raise Error("not_found", "program", f"no daemon at {self._at.socket}, and the program {self._program} that would start one is not on PATH", "install troupe, or give connect the path of its program")
            if not self._at.state:
                raise Error("invalid_params", "home", "neither HOME nor XDG_STATE_HOME names a directory", "set one of them to an absolute path")
            try:
                os.makedirs(self._at.state, 0o700, exist_ok=True)
                with _start_lock(self._at.state):
                    if not self._listens():
                        _launch(os.path.abspath(program), self._at)
            except Error as err:
                if not _is(err, "conflict", "state"):
                    raise
                until = time.monotonic() + _WAY_PATIENCE  # a daemon that another process has started does not listen yet
                while not self._listens():
                    if time.monotonic() > until:
                        raise
                    time.sleep(_RETRY_FIRST)
            except OSError as err:
                raise Error("refused", "directory", f"cannot use the state directory {self._at.state}: {err.strerror}", "set TROUPE_STATE to a writable directory of yours") from err

    def _listens(self) -> bool:
        try:
            self._dial().close()
            return True
        except _NoDaemon:
            return False

    def _take(self) -> _Wire:
        """Return an idle connection, or a new one."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                wire = self._idle.pop()
            if time.monotonic() - wire.since < _IDLE_FOR and wire.quiet():
                return wire
            wire.close()
        return self._dial()

    def _give_back(self, wire: _Wire) -> None:
        wire.since = time.monotonic()
        with self._lock:
            old = [w for w in self._idle if wire.since - w.since >= _IDLE_FOR]
            self._idle = [w for w in self._idle if wire.since - w.since < _IDLE_FOR]
            if len(self._idle) < _IDLE_MOST:
                self._idle.append(wire)
            else:
                old.append(wire)
        for one in old:
            one.close()

    def close(self) -> None:
        """Close idle connections. The daemon and its jobs continue."""
        with self._lock:
            idle, self._idle = self._idle, []
        for wire in idle:
            wire.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _head(self, method: str, target: str, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {target} HTTP/1.1"]
        if self._port is None:
            lines.append("Host: troupe")
        else:
            host, port, token = self._port
            lines += [f"Host: [{host}]:{port}" if ":" in host else f"Host: {host}:{port}", "Authorization: Bearer " + token]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if any("\r" in line or "\n" in line for line in lines):
            raise Error("invalid_params", "header", "a header of the request has a newline")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def _open(
        self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Optional[Mapping[str, Any]] = None, headers: Optional[Mapping[str, str]] = None,
        cancel: Optional[Cancel] = None, interim: Optional[Callable[[Dict[str, str]], None]] = None, until: Optional[float] = None,
    ) -> _Reply:
        """Send a request and return its reply after the head, if that is no error.

        While the daemon has no room for it, the request waits and is sent again, until a time; else for a minute.
        """
        target, given, data = path, dict(headers or {}), b""
        asked = {name: "true" if value is True else value for name, value in (query or {}).items() if value not in (None, False)}
        if asked:
            target += "?" + urlencode(asked)
        if body is not None:
            data = json.dumps(body, ensure_ascii=False).encode()
            given["Content-Type"] = "application/json"
        if method != "GET":
            given["Content-Length"] = str(len(data))
        wait, until = _ROOM_FIRST, time.monotonic() + _ROOM_PATIENCE if until is None else until
        while True:
            retry = ""
            try:
                reply = self._exchange(self._head(method, target, given) + data, cancel, interim)
                if reply.status < 400:
                    return reply
                retry = reply.headers.get("retry-after", "")
                raise _refusal(reply.status, reply.read())
            except Error as err:
                if cancel is not None:
                    cancel._check()
                left = until - time.monotonic()
                if not _full(err) or left <= 0:
                    raise
            _pause(min(float(retry) if retry.isdigit() else wait, 5.0, left), cancel)
            wait = min(2 * wait, _ROOM_MOST)

    def _exchange(self, request: bytes, cancel: Optional[Cancel], interim: Optional[Callable[[Dict[str, str]], None]]) -> _Reply:
        wire = self._take()
        try:
            with cancel._watch(wire) if cancel is not None else contextlib.nullcontext():
                refused: Optional[Error] = None
                try:
                    wire.send(request)
                except _Broken as err:
                    refused = err  # the daemon may refuse a body before it has read all of it
                try:
                    while True:
                        reply = _Reply(wire, self._give_back)
                        if reply.status >= 200 or reply.status == 101:
                            return reply
                        if interim is not None:
                            interim(reply.headers)
                except _Broken as err:
                    raise refused or err
        except BaseException:  # an interrupted run is stopped by the end of its connection
            wire.close()
            raise

    def _fetch(self, *request: Any, **more: Any) -> Record:
        reply = self._open(*request, **more)
        return _decode(reply.read())

    def _returning(self, send: Callable[[], T], cancel: Optional[Cancel] = None, *, again: bool = False, away: Optional[_Absence] = None) -> T:
        """Call send until a daemon answers it: for requests whose repeat changes nothing. again: it is part of a call that has begun."""
        away = away or _Absence(self, cancel)
        while True:
            try:
                return send()
            except Error as err:
                if not again and isinstance(err, _NoDaemon) and self._starts:
                    self._start()  # the last one has ended before this request
                else:
                    away.next(err)
                again = True

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None, *, query: Optional[Mapping[str, Any]] = None, repeat: bool = False) -> Record:
        """Send any request of the API, such as call("GET", "/v1/stats"). With repeat, or GET, it comes back to the next daemon."""
        def send() -> Record:
            return self._fetch(method, path, query, {} if body is None and method == "POST" else body)

        if repeat or method == "GET":
            return self._returning(send)
        try:
            return send()
        except _NoDaemon:
            if not self._starts:
                raise
            self._start()
            return send()

    def _greet(self) -> None:
        """Ask the daemon for its version, within a time: a stopped one answers never."""
        def ask() -> Record:
            return self._fetch("GET", "/v1/version", cancel=patience)

        try:
            with _within(_ANSWER_PATIENCE) as patience:
                try:
                    ask()
                except _NoDaemon:
                    if not self._starts:
                        raise
                    self._start()
                    ask()
                except _Broken:  # a daemon that cannot even refuse closes the connection
                    self._returning(ask, patience)
        except Error as err:
            if err.code != "cancelled":
                raise
            hint = "check its process and its log in the state directory, kill it, and retry: its jobs keep running"
            raise Error("busy", "daemon", f"the daemon did not answer within {_ANSWER_PATIENCE:.0f} s", hint) from None

    def version(self) -> Record:
        """Return the version, the process and the state directory of the daemon."""
        return self.call("GET", "/v1/version")

    # Jobs.

    def run(self, command: Command, *, input: Optional[Union[str, bytes]] = None, check: bool = False, capture: Optional[int] = None, cancel: Optional[Cancel] = None, **options: "Unpack[Options]") -> Result:
        """Run a command, wait until it has ended, and return how it ended and what it wrote.

        input is written to its standard input, which is then closed. A command that cannot start has
        the outcome failed_to_start; with check any end but exit 0 is an Error. So is a part of an output
        that was not kept, with the rest in the Error, and an output of more than 16 MiB; with capture
        the result has the last so many bytes of each stream. KeyboardInterrupt and cancel stop the
        command with all its processes, and are raised when those have ended; one with a key goes on
        if another client waits for it. A command that goes to the background (promote_after, or
        `troupe promote`) is answered then: result.outcome is None.
        """
        return self._run(_body(command, options), options.get("key"), input, check, capture, cancel)

    def _run(self, body: Dict[str, Any], key: Optional[str], data: Optional[Union[str, bytes]], check: bool, capture: Optional[int], cancel: Optional[Cancel]) -> Result:
        feeder = _Feeder(self, body.get("uid"), data) if data is not None else None
        if feeder is not None:
            body.setdefault("stdin", "pipe")
        try:
            record = self._submit(body, key, cancel, feeder.known if feeder else None)
        finally:
            if feeder is not None:
                feeder.answered()
        if feeder is not None and record["state"] == "finished":
            feeder.check()
        job = Job(self, record["uid"])
        try:
            wrote = {stream: self._captured(job, stream, record["output"][stream]["bytes"], capture) for stream in record["output"]}
        except Error as err:
            err.record = err.record or record
            raise
        none = _output(b"", [], 0, 0)
        result = Result(job, record, wrote.get("merged") or wrote.get("stdout") or none, wrote.get("stderr") or none)._whole()
        return result.check() if check else result

    @staticmethod
    def _captured(job: "Job", stream: str, size: Optional[int], capture: Optional[int]) -> Output:
        """Return what was kept of a stream, or of its end. The size of a lost one is None."""
        if size == 0 or capture == 0:
            return _output(b"", [], size or 0, size or 0)
        return job._kept(stream, max((size or 0) - capture, 0) if capture is not None else 0, capture)

    def _submit(self, body: Dict[str, Any], key: Optional[str], cancel: Optional[Cancel], known: Optional[Callable[[Dict[str, str]], None]]) -> Record:
        """Send a run. While the daemon has no room for it, it waits here as it would in the queue of the daemon:

        until it is cancelled, or the timeout of the command has passed.
        """
        headers = {}
        if key is not None:
            headers["Idempotency-Key"] = key
        if known is not None:
            headers["Prefer"] = "processing"
        if cancel is not None:
            cancel._check()
        timeout, away = body.get("timeout_ms"), _Absence(self, cancel)
        until = time.monotonic() + timeout / 1000 if timeout else float("inf")
        try:
            return self._returning(lambda: self._fetch("POST", "/v1/jobs", None, body, headers, cancel, known, until), cancel, away=away)
        except BaseException as err:
            if not isinstance(err, Error) or err.code == "cancelled":
                self._give_up(body, key, away)
            raise

    def _give_up(self, body: Dict[str, Any], key: Optional[str], away: _Absence) -> None:
        """Stop the job of a run whose caller has given up, and return when it has ended. It may never have been a job."""
        if key is not None and body.get("mode"):
            return  # a repeat with the key finds the job in the background
        uid = body["uid"]
        with contextlib.suppress(Error), _within(body.get("grace_ms", _GRACE * 1000) / 1000 + _STOP_PATIENCE) as patience:
            if key is not None:  # the daemon stops it, unless another client waits for it
                wait = {"jobs": [uid], "timeout_ms": _ms(_STRAY if away.begun else _LOSS)}
                end = self._returning(lambda: self._fetch("POST", "/v1/wait", None, wait, None, patience), patience)
                if not end["jobs"][0]["cause"]:
                    return
            self._returning(lambda: self._fetch("POST", f"/v1/jobs/{uid}/stop", None, {}, None, patience), patience)

    def spawn(self, command: Command, *, cancel: Optional[Cancel] = None, **options: "Unpack[Options]") -> "Job":
        """Start a command in the background, and return its job when it has started, or waits for its turn.

        A command that cannot start is an Error.
        """
        return self._spawn(_body(command, options), options.get("key"), cancel)

    def _spawn(self, body: Dict[str, Any], key: Optional[str], cancel: Optional[Cancel]) -> "Job":
        body.setdefault("mode", "detached" if "log_file" in body else "async")
        record = self._submit(body, key, cancel, None)
        if record["outcome"] == "failed_to_start":
            raise _not_started(record)
        return Job(self, record["uid"])

    def job(self, name: str) -> "Job":
        """Find a job by its id, its ULID or its name."""
        return Job(self, self.call("GET", "/v1/jobs/" + quote(name, safe=""))["uid"])

    def jobs(self, scope: Optional[str] = None, *, finished: bool = False) -> Iterator[Record]:
        """Yield the records of the jobs at and below a scope, oldest first."""
        cursor = None
        while True:
            page = self.call("GET", "/v1/jobs", query={"scope": scope, "finished": finished, "limit": 500, "cursor": cursor})
            yield from page["jobs"]
            cursor = page.get("next")
            if not cursor:
                return

    def session(
        self, name: str, *, backend: str = "shell", cwd: Optional[Text] = None, env: Optional[Mapping[str, str]] = None, env_policy: str = "caller",
        shell: Optional[str] = None, scope: Optional[str] = None, terminal: Optional[Tuple[int, int]] = None, **plan: Any,
    ) -> "Session":
        """Open a session, or find it open: a live shell, whose directory and variables stay for the next command."""
        opens: Dict[str, Any] = {"backend": backend, "cwd": _text(os.path.abspath(os.fspath(cwd)) if cwd is not None else os.getcwd())}
        if backend.startswith("shell"):  # other sessions give their commands no environment
            opens["environment"] = _environment(env_policy, env)
        if shell is not None:
            opens["shell"] = shell
        if terminal is not None:
            opens["terminal"] = {"rows": terminal[0], "cols": terminal[1]}
        opens.update(plan)
        session = Session(self, name, scope if scope is not None else _outer_scope(), opens)
        session._open()
        return session

    def events(
        self, cursor: Optional[int] = None, *, journal: Optional[str] = None, scope: Optional[str] = None, job: Optional[str] = None, ends: bool = False, past: bool = False,
    ) -> "Events":
        """Return the events after a number: 0 begins with the oldest, None with those from now on.

        journal is that of the events which had the number: with it, a journal that was replaced is noticed.
        ends selects the ends of jobs alone; past ends after the last event so far.
        """
        return Events(self, cursor, scope, job, ends, past, journal)

    def lease(self, scope: str) -> "Lease":
        """Hold a scope: its jobs stop when this process ends, however it ends, or the lease is closed.

        `with client.lease("agent"): ...` closes it; scope="agent" of a command puts its job there.
        """
        return Lease(self, scope)

    def attach(self, job: Union[str, "Job"], *, lease: Optional[str] = "ask", stream: Optional[str] = None, offset: int = 0, terminal: bool = False) -> "Attachment":
        """Attach to a job: its output as it comes, and its input. lease is ask, take, or None to watch."""
        return Attachment(self, job.uid if isinstance(job, Job) else self.job(job).uid, lease, stream, offset, terminal)


def _outer_scope() -> Optional[str]:
    return os.environ.get("TROUPE_SCOPE") or None


def _environment(policy: str, variables: Optional[Mapping[str, str]]) -> Dict[str, Any]:
    env: Dict[str, Any] = {"policy": policy}
    if policy == "caller":
        env["base"] = [_text(name + b"=" + value) for name, value in os.environb.items()]
    if variables:
        env["set"] = [_text(os.fsencode(name) + b"=" + os.fsencode(value)) for name, value in variables.items()]
    return env


_TIMES = {"timeout": "timeout_ms", "idle_timeout": "idle_timeout_ms", "grace": "grace_ms", "promote_after": "promote_after_ms"}
_AS_THEY_ARE = (
    "shell", "name", "description", "tag", "scope", "replace", "stop_signal", "on_exit", "streams", "stdin", "umask", "limits", "durability", "persist", "key", "env", "env_policy", "cwd",
)


def _body(command: Command, options: Mapping[str, Any], session: Optional["Session"] = None) -> Dict[str, Any]:
    """Return the request of a run."""
    body: Dict[str, Any] = {"uid": _ulid()}
    if isinstance(command, (str, bytes)):
        body["command"] = _text(command)
    else:
        body["argv"] = [_text(word) for word in command]
    for name, value in options.items():
        if value is None or name in ("key", "env", "env_policy", "cwd"):
            continue
        if name in _TIMES:
            body[_TIMES[name]] = _ms(value)
        elif name == "terminal":
            body["terminal"] = {"rows": value[0], "cols": value[1]}
        elif name == "max_output":
            body["max_output"] = {"bytes": value} if isinstance(value, int) else value
        elif name == "on_finish":
            body["on_finish"] = list(value)
        elif name == "detached":
            body["mode"] = "detached" if value else "async"
        elif name == "log_file":
            body["log_file"] = _text(os.path.abspath(os.fspath(value)))
        elif name in _AS_THEY_ARE:
            body[name] = value
        else:
            raise TypeError(f"unexpected option {name!r} of a run; troupe.Options lists them")
    if options.get("cwd") is not None:
        body["cwd"] = _text(os.path.abspath(os.fspath(options["cwd"])))
    if session is not None:
        body.update(session=session.name, open=session._plan)
        if options.get("env"):
            body["environment"] = {"set": _environment("", options["env"])["set"]}
        scope = session.scope
    else:
        body.setdefault("cwd", _text(os.getcwd()))
        body["environment"] = _environment(options.get("env_policy") or "caller", options.get("env"))
        scope = _outer_scope()
    if scope is not None:
        body.setdefault("scope", scope)
    return body


class _Feeder:
    """Writes the input of a run in the foreground, from the moment at which its job is known."""

    def __init__(self, client: Client, uid: Optional[str], data: Union[str, bytes]) -> None:
        self._client, self._uid, self._data = client, uid, data
        self._wake, self._done = threading.Event(), threading.Event()
        self._error: Optional[Error] = None
        self._thread = threading.Thread(target=self._feed, name="troupe-input", daemon=True)
        self._thread.start()

    def known(self, headers: Dict[str, str]) -> None:
        """Take the job of a 102 reply."""
        place = headers.get("location", "")
        if place:
            self._uid = place.rsplit("/", 1)[1]
            self._wake.set()

    def answered(self) -> None:
        """Note that the run has been answered: a job that does not exist by now never will."""
        self._done.set()
        self._wake.set()

    def check(self) -> None:
        """Raise what has gone wrong, other than the end of the job or of its input."""
        self._thread.join()
        if self._error is not None and self._error.code not in ("job_finished", "no_input", "not_found"):
            raise self._error

    def _feed(self) -> None:
        wait = 0.25
        while True:
            self._wake.wait(wait)  # a run that replaces another job has no 102
            wait = min(2 * wait, 1.0)
            try:
                if self._uid is not None:
                    self._write(Job(self._client, self._uid))
                    return
            except Error as err:
                if err.code != "not_found" or self._done.is_set():
                    self._error = err
                    return
            if self._done.is_set():
                return

    def _write(self, job: "Job") -> None:
        try:
            job._write(self._data, again=True)
        except Error as err:
            if not _is(err, "refused", "not_started"):
                raise
            with Events(self._client, 0, None, job.uid, False, False) as events:  # it waits in a queue
                next((e for e in events if e.get("job") and e.job.state not in ("queued", "starting")), None)
            job._write(self._data, again=True)
        job._close_input(again=True)


class Job:
    """A job of the daemon. uid is its ULID, which names it as long as its record is kept."""

    def __init__(self, client: Client, uid: str) -> None:
        self._client, self.uid = client, uid
        self._path = "/v1/jobs/" + uid

    def __repr__(self) -> str:
        return f"<Job {self.uid}>"

    def record(self, *, live: bool = False) -> Record:
        """Return what is known of the job now; live adds what its processes do and use."""
        return self._client.call("GET", self._path, query={"live": live})

    def wait(
        self, timeout: Optional[float] = None, *, pattern: Optional[str] = None, stream: Optional[str] = None, port: Optional[int] = None, quiet: Optional[float] = None,
        input: bool = False, cancel: Optional[Cancel] = None,
    ) -> Record:
        """Wait for the end of the job and return its record.

        Or wait until the output of a stream matches a pattern (RE2), it listens on a port, it has written nothing
        for quiet seconds, or it waits for input. A timeout is an Error with the code timed_out, and a
        condition that the job can no longer meet one with the code impossible. Neither stops the job.
        """
        condition: Dict[str, Any] = {"kind": "exit"}
        if pattern is not None:
            condition = {"kind": "pattern", "pattern": pattern, "stream": self._stream(stream)}
        elif port is not None:
            condition = {"kind": "port", "port": port}
        elif quiet is not None:
            condition = {"kind": "quiet", "quiet_ms": _ms(quiet)}
        elif input:
            condition = {"kind": "input"}
        until = None if timeout is None else time.monotonic() + timeout
        late = Error("timed_out", "wait", f"job {self.uid} took longer than {timeout} s", "it runs on: wait again, or stop it")

        def send() -> Record:
            body: Dict[str, Any] = {"jobs": [self.uid], "condition": condition}
            if until is not None:
                left = until - time.monotonic()
                if left <= 0:
                    raise late
                body["timeout_ms"] = _ms(left)
            return self._client._fetch("POST", "/v1/wait", None, body, None, cancel)

        end = self._client._returning(send, cancel)
        if end["timed_out"]:
            raise late
        if end["impossible"]:
            raise Error("impossible", condition["kind"], f"job {self.uid} can no longer meet the condition {condition['kind']}", "its record says how it ended", end["jobs"][0] if end["jobs"] else None)
        return end["jobs"][0]

    def _stream(self, stream: Optional[str]) -> str:
        if stream is not None:
            return stream
        return "merged" if "merged" in self.record()["output"] else "stdout"

    def output(self, stream: Optional[str] = None, *, offset: int = 0, limit: Optional[int] = None) -> Output:
        """Return the bytes of a stream that there are now: merged, stdout (if the streams are apart) or stderr.

        A part that was not kept is an Error that has the rest, and without a limit so are more than 16 MiB.
        """
        kept = self._kept(self._stream(stream), offset, limit)
        if not kept.gaps:
            return kept
        err = _gap()
        err.output = kept
        raise err

    def _kept(self, stream: str, offset: int, limit: Optional[int]) -> Output:
        """Return what was kept of a part of a stream."""
        with Follow(self._client, self.uid, stream, offset, limit, False) as reader:
            parts, size = [], 0
            for part in reader:
                parts.append(part)
                size += len(part)
                if limit is None and size > _CAPTURE:
                    raise _too_large(_CAPTURE)
            return _output(b"".join(parts), reader.gaps, offset, reader.offset)

    def follow(self, stream: Optional[str] = None, *, offset: int = 0) -> "Follow":
        """Read a stream from a byte on, as it grows, until no process can write any more."""
        return Follow(self._client, self.uid, self._stream(stream), offset, None, True)

    def write(self, data: Union[str, bytes]) -> int:
        """Write to the standard input; returns when the kernel has all of it, with the offset that the input has reached.

        A daemon that ends meanwhile loses and doubles nothing, if no other client writes too.
        """
        return self._write(data, again=False)

    def _write(self, data: Union[str, bytes], again: bool) -> int:
        rest = memoryview(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
        through = self._through(again)
        while len(rest):
            piece = rest[:_MAX_INPUT]
            body = {"data_base64": base64.b64encode(piece).decode()}
            try:
                reached = self._client._fetch("POST", self._path + "/input", None, body)["through"]
            except Error as err:
                if not _left(err):
                    raise
                reached = self._through(again=True)
                if not 0 <= reached - through <= len(piece):
                    raise
            rest = rest[min(reached - through, len(piece)):] if reached - through < len(piece) else rest[len(piece):]
            through = reached
        return through

    def _through(self, again: bool) -> int:
        """Return how far the input has come."""
        return self._client._returning(lambda: self._client._fetch("POST", self._path + "/input", None, {"data": ""}), again=again)["through"]

    def keys(self, keys: str) -> None:
        """Type keys on the job's terminal, such as "make{enter}" or "{ctrl+c}"."""
        self._client.call("POST", self._path + "/input", {"keys": keys})

    def paste(self, text: str) -> None:
        """Paste a text on the job's terminal."""
        self._client.call("POST", self._path + "/input", {"paste": text})

    def close_input(self) -> None:
        """End the standard input. A job that has finished is no error."""
        self._close_input(again=False)

    def _close_input(self, again: bool) -> None:
        try:
            self._client._returning(lambda: self._client._fetch("POST", self._path + "/close-input", None, {}), again=again)
        except Error as err:
            if err.code != "job_finished":
                raise

    def stop(self, grace: Optional[float] = None, reason: Optional[str] = None) -> List[Record]:
        """Stop all processes of the job: TERM, and KILL after the grace. Returns the survivors of that."""
        body: Dict[str, Any] = {}
        if grace is not None:
            body["grace_ms"] = _ms(grace)
        if reason is not None:
            body["reason"] = reason
        return self._client.call("POST", self._path + "/stop", body, repeat=True)["survivors"]

    def signal(self, name: Union[str, int], *, tree: bool = False) -> None:
        """Send a signal, such as "INT", to the main process of the job, or to all its processes."""
        self._client.call("POST", self._path + "/signal", {"signal": str(int(name)) if isinstance(name, int) else name, "tree": tree})

    def promote(self, *, keep: bool = True) -> Record:
        """Move the job to the background and answer its client. With keep it outlives its scope."""
        return self._client.call("POST", self._path + "/promote", {"keep": keep}, repeat=True)

    def resize(self, rows: int, cols: int) -> None:
        """Change the size of the job's terminal."""
        self._client.call("POST", self._path + "/resize", {"rows": rows, "cols": cols}, repeat=True)

    def screen(self) -> List[str]:
        """Return what the job's terminal shows, one text for each row."""
        return self._client.call("GET", self._path + "/screen")["lines"]

    def attach(self, *, lease: Optional[str] = "ask", stream: Optional[str] = None, offset: int = 0, terminal: bool = False) -> "Attachment":
        """Attach to the job, as Client.attach does."""
        return Attachment(self._client, self.uid, lease, stream, offset, terminal)

    def remove(self) -> Record:
        """Remove the record of a finished job and its output."""
        return self._client.call("DELETE", self._path)


class Follow(Iterator[bytes]):
    """The bytes of one stream as they come, over the ends of daemons. One thread reads; close ends it from any.

    offset is the next byte, size what there was when the reading began, gaps the ranges that were not
    kept, so far.
    """

    def __init__(self, client: Client, uid: str, stream: str, offset: int, limit: Optional[int], follow: bool) -> None:
        self._client, self._uid, self._name, self._follow = client, uid, stream, follow
        self.offset, self.gaps, self.size = offset, [], 0  # type: int, List[Gap], int
        self._over = self._closed = False
        self._away = _Absence(client, None)
        self._reply = client._returning(lambda: self._ask(limit))
        self.size = int(self._reply.headers["troupe-size"])
        self._end = None if limit is None else offset + limit
        if not follow:
            self._end = max(offset, self.size if self._end is None else min(self._end, self.size))

    def _ask(self, limit: Optional[int]) -> _Reply:
        query = {"stream": self._name, "offset": self.offset or None, "limit": limit, "follow": self._follow}
        return self._client._open("GET", f"/v1/jobs/{self._uid}/output", query, None, {"Prefer": "resumable"})

    def __iter__(self) -> "Follow":
        return self

    def __next__(self) -> bytes:
        while not self._over and not self._closed:
            try:
                part = self._reply.some()
                if part:
                    self.offset += len(part)
                    return part
                self._ended()
            except Error as err:
                if self._closed:
                    break
                self._again(err)
        self._reply.close()
        raise StopIteration

    def _ended(self) -> None:
        """Take the end of a reply: only one without a gap is the last."""
        trailers = self._reply.trailers
        if not trailers.get("troupe-next-offset"):
            raise _Broken()
        gaps = [Gap(*map(int, text.split("-"))) for text in trailers.get("troupe-gaps", "").split(",") if text]
        self.gaps += gaps
        self.offset = max(int(trailers["troupe-next-offset"]), self.offset)
        if gaps and (self._end is None or self.offset < self._end):
            self._reply = self._client._returning(lambda: self._ask(self._rest()), again=True)
        else:
            self._over = True

    def _rest(self) -> Optional[int]:
        return None if self._end is None else self._end - self.offset

    def _again(self, err: Error) -> None:
        """Read on with the next daemon."""
        self._reply.close()
        if self._end is not None and self.offset >= self._end:  # only the end of the reply is missing
            self._over = True
            return
        while True:
            self._away.next(err)
            try:
                self._reply = self._ask(self._rest())
                self._away.arrived()
                return
            except Error as other:
                err = other

    def close(self) -> None:
        """End the reading. The job goes on."""
        self._closed = True
        self._reply.abort()

    def __enter__(self) -> "Follow":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._reply.close()


class Lease:
    """The hold on a scope, taken again from the next daemon by a thread. close ends it.

    Only jobs that are detached or were promoted by a person go on after it. A child that the process forks
    does not hold it.
    """

    def __init__(self, client: Client, scope: str) -> None:
        self.scope, self._client, self._closed, self._pid = scope, client, False, os.getpid()
        self._released: Optional[Record] = None
        self._lock = threading.Lock()  # held while the lease is taken again
        self._reply = client._returning(self._ask)
        threading.Thread(target=self._hold, name="troupe-lease", daemon=True).start()

    def _ask(self) -> _Reply:
        return self._client._open("POST", "/v1/leases", None, {"path": self.scope})

    def _hold(self) -> None:
        while True:
            with contextlib.suppress(Error):
                self._reply.read()  # it ends with the daemon or the lease
            while True:
                with self._lock:
                    if self._closed:
                        return
                    with contextlib.suppress(Error, OSError):
                        self._reply = self._client._returning(self._ask, again=True)
                        break
                time.sleep(_RETRY_MOST)  # without a daemon there is nothing to hold

    def close(self) -> Record:
        """End the lease, and return what was stopped when nothing of it is left; at once, if another process holds the scope."""
        if self._pid != os.getpid():
            return Record(v=1, jobs=[], kept=[], survivors=[])  # it is that of the process that has forked this one
        with self._lock:
            if self._released is None:
                self._closed = True
                self._released = self._release()
            return self._released

    def _release(self) -> Record:
        try:
            return self._client.call("DELETE", self._reply.headers["location"], repeat=True)
        except Error as err:
            if not _is(err, "not_found", "lease"):
                raise
            self._reply = self._client._returning(self._ask)  # the next daemon does not know it yet
            return self._client.call("DELETE", self._reply.headers["location"], repeat=True)
        finally:
            self._reply.abort()

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Events(Iterator[Record]):
    """Events as they are recorded, each once and in order, over the ends of daemons.

    cursor is the number of the last one, journal the journal that gave it: store both, and begin after
    them the next time. Numbers that the journal no longer holds, or that are of another one, come as an
    event facts_dropped. One thread reads; close ends it from any.
    """

    def __init__(self, client: Client, cursor: Optional[int], scope: Optional[str], job: Optional[str], ends: bool, past: bool, journal: Optional[str] = None) -> None:
        self._client, self._closed = client, False
        self._query = {"scope": scope, "job": job, "ends": ends, "past": past}
        self.cursor = 0 if past and cursor is None else cursor
        self.journal = journal
        self._sender: Optional[str] = None  # the journal of this connection
        self._away = _Absence(client, None, _EVENTS_RETURN)
        self._kept: Deque[Record] = collections.deque()
        self._buf = b""
        self._reply: Optional[_Reply] = client._returning(self._ask)
        while self.cursor is None and self._reply is not None:  # the stream begins with the number after which it starts
            self._line()

    def _ask(self) -> _Reply:
        self._buf = b""
        if self.cursor is None:
            reply = self._client._open("GET", "/v1/events", {**self._query, "now": True})
        else:
            headers = {"Last-Event-ID": str(self.cursor)}
            if self.journal is not None:
                headers["Troupe-Journal"] = self.journal
            reply = self._client._open("GET", "/v1/events", self._query, None, headers)
        self._sender = reply.headers.get("troupe-journal")
        return reply

    def __iter__(self) -> "Events":
        return self

    def __next__(self) -> Record:
        while not self._kept:
            if self._closed or self._reply is None:
                self._finish()
                raise StopIteration
            self._line()
        event = self._kept.popleft()
        if event.get("seq") is not None:
            self.cursor, self.journal = event["seq"], self._sender
        return event

    def _line(self) -> None:
        """Read one line of the stream, from the next daemon if this one has ended."""
        assert self._reply is not None
        try:
            line = self._read_line()
            if line.startswith(b"id: ") and self.cursor is None:
                self.cursor, self.journal = int(line[4:]), self._sender
            elif line.startswith(b"data: "):
                self._take(_decode(line[6:]))
        except Error as err:
            if self._closed:
                return
            self._again(err)

    def _read_line(self) -> bytes:
        parts = []
        while b"\n" not in self._buf:
            parts.append(self._buf)
            assert self._reply is not None
            self._buf = self._reply.some()
            if not self._buf:
                raise _Broken()
        line, self._buf = self._buf.split(b"\n", 1)
        return b"".join(parts) + line

    def _take(self, event: Record) -> None:
        if event["event"] == "stream_ended":
            error = event.get("error")
            if error:
                raise Error(error["code"], error.get("reason", ""), error["message"], error.get("hint", ""))
            self._finish()
            return
        anew = event["event"] == "facts_dropped" and event["seq"] < event["from"]  # another journal: its numbers begin anew
        last = self._kept[-1]["seq"] if self._kept else self.cursor
        if last is None or event["seq"] > last or anew:
            self._kept.append(event)

    def _again(self, err: Error) -> None:
        if self._reply is not None:
            self._reply.close()
        while True:
            self._away.next(err)
            try:
                self._reply = self._ask()
                self._away.arrived()
                return
            except Error as other:
                err = other

    def _finish(self) -> None:
        if self._reply is not None:
            self._reply.close()
        self._reply = None

    def close(self) -> None:
        """End the reading."""
        self._closed = True
        reply = self._reply
        if reply is not None:
            reply.abort()

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._finish()


class Session:
    """A place to run. With the backend shell it is a live shell: the directory, the variables and the
    functions of a command stay for the next one."""

    def __init__(self, client: Client, name: str, scope: Optional[str], plan: Dict[str, Any]) -> None:
        self._client, self.name, self.scope, self._plan = client, name, scope, plan

    def __repr__(self) -> str:
        return f"<Session {self.name}>"

    def _open(self) -> None:
        body = dict(self._plan, session=self.name)
        if self.scope is not None:
            body["scope"] = self.scope
        self._client.call("POST", "/v1/sessions", body, repeat=True)

    def run(self, command: Command, *, input: Optional[Union[str, bytes]] = None, check: bool = False, capture: Optional[int] = None, cancel: Optional[Cancel] = None, **options: "Unpack[Options]") -> Result:
        """Run a command in the session, as Client.run does. cwd and env change the live shell, and stay."""
        return self._client._run(_body(command, options, self), options.get("key"), input, check, capture, cancel)

    def spawn(self, command: Command, *, cancel: Optional[Cancel] = None, **options: "Unpack[Options]") -> Job:
        """Start a command in the session, as Client.spawn does."""
        return self._client._spawn(_body(command, options, self), options.get("key"), cancel)

    def close(self) -> Record:
        """Stop the jobs of the session and its shell."""
        return self._client.call("DELETE", "/v1/sessions/" + quote(self.name, safe=""), query={"scope": self.scope})

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Error):
            self.close()


# Attachments: a WebSocket (RFC 6455) on a connection to the daemon.

_CONTINUATION, _WS_TEXT, _WS_BINARY, _WS_CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_WS_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MAX_MESSAGE = 64 << 20  # a record contains the text of its command
_MAX_ATTACH_INPUT = 64 << 10
_CLOSE_PATIENCE = 1.0
_UNWRITTEN_MOST = 8  # messages of input that the daemon has not acknowledged; it keeps 16


class _WSClosed(Exception):
    """The other end has closed the WebSocket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}".strip())
        self.code, self.reason = code, reason


def _masked(data: bytes, mask: bytes) -> bytes:
    n = len(data)
    key = (mask * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(n, "big")


class _WebSocket:
    """Sends and receives messages. One thread receives; sending is safe for several."""

    def __init__(self, wire: _Wire) -> None:
        self._wire, self._lock, self._closing = wire, threading.Lock(), False

    @staticmethod
    def key() -> str:
        return base64.b64encode(os.urandom(16)).decode()

    @staticmethod
    def answer(key: str) -> str:
        return base64.b64encode(hashlib.sha1(key.encode() + _WS_GUID).digest()).decode()

    def send(self, kind: int, data: bytes) -> None:
        head = bytes([0x80 | kind])
        if len(data) < 126:
            head += bytes([0x80 | len(data)])
        elif len(data) < 1 << 16:
            head += struct.pack(">BH", 0x80 | 126, len(data))
        else:
            head += struct.pack(">BQ", 0x80 | 127, len(data))
        mask = os.urandom(4)
        with self._lock:
            if self._closing and kind != _WS_CLOSE:
                raise _Broken("it is closed")
            self._wire.send(head + mask + _masked(data, mask))

    def receive(self) -> Tuple[int, bytes]:
        """Return the next message, of text or bytes. Pings are answered, fragments joined."""
        kind, whole = 0, bytearray()
        while True:
            final, code, data = self._frame(_MAX_MESSAGE - len(whole))
            if code == _PING:
                self.send(_PONG, data)
            elif code == _WS_CLOSE:
                self._closed(data)
            elif code == _PONG:
                pass
            elif (code == _CONTINUATION) != bool(kind) or code not in (_CONTINUATION, _WS_TEXT, _WS_BINARY):
                self._fail(1002, f"a frame of the kind {code} is out of place")
            else:
                kind = kind or code
                whole += data
                if final:
                    return kind, bytes(whole)

    def _frame(self, most: int) -> Tuple[bool, int, bytes]:
        first, second = self._wire.exactly(2)
        if first & 0x70 or second & 0x80:
            self._fail(1002, "a frame has reserved bits, or a mask")
        code, n = first & 0x0F, second & 0x7F
        if code >= 8 and (n > 125 or not first & 0x80):
            self._fail(1002, "a control frame is in parts, or too long")
        if n == 126:
            n = struct.unpack(">H", self._wire.exactly(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self._wire.exactly(8))[0]
        if n > most:
            self._fail(1009, f"a message is longer than {_MAX_MESSAGE} bytes")
        return bool(first & 0x80), code, self._wire.exactly(n)

    def _closed(self, data: bytes) -> None:
        """Answer the other end's close frame, and raise what it says."""
        code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
        with contextlib.suppress(Error):
            self.send(_WS_CLOSE, data[:2])
        self._wire.close()
        raise _WSClosed(code, data[2:].decode("utf-8", "replace"))

    def _fail(self, code: int, why: str) -> None:
        self.close(code)
        raise _foreign(why)

    def close(self, code: int = 1000) -> None:
        """Send a close frame and end the connection."""
        if self._lock.acquire(timeout=_CLOSE_PATIENCE):  # else another thread sends, and the daemon does not read
            try:
                with contextlib.suppress(Error, OSError):
                    if not self._closing:
                        self._closing = True
                        self._wire.sock.settimeout(_CLOSE_PATIENCE)
                        mask = os.urandom(4)
                        self._wire.send(bytes([0x80 | _WS_CLOSE, 0x80 | 2]) + mask + _masked(struct.pack(">H", code), mask))
            finally:
                self._lock.release()
        self._wire.abort()

    def free(self) -> None:
        self._wire.close()


class Attachment(Iterator[Union[bytes, Record]]):
    """A connection to a job's terminal or pipes, over the ends of daemons.

    It yields bytes, the output from the requested byte on, and Records, the other messages of the
    daemon (AttachEvent in openapi.yaml): the first of each connection is hello, the last one ended.
    held says whether this client has the input lease: one attached client has it, and writes. One
    thread reads; the other methods are safe for all. Input that a daemon has not acknowledged before
    it ended may be lost.
    """

    def __init__(self, client: Client, uid: str, lease: Optional[str], stream: Optional[str], offset: int, terminal: bool) -> None:
        self._client, self.uid, self._stream, self._terminal = client, uid, stream, terminal
        self.offset, self.held, self.gaps = offset, False, []  # type: int, bool, List[Gap]
        self._asks = lease is not None
        self._reading, self._state = threading.RLock(), threading.Condition()
        self._kept: Deque[Union[bytes, Record]] = collections.deque()
        self._unwritten, self._over, self._closed, self._turn = 0, False, False, 0
        self._away = _Absence(client, None)
        if stream is None:
            self._stream = Job(client, uid)._stream(None)
        self._ws = client._returning(lambda: self._connect(lease))

    def _connect(self, lease: Optional[str]) -> _WebSocket:
        key = _WebSocket.key()
        headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
        query = {"stream": self._stream, "offset": self.offset or None, "lease": lease, "terminal": self._terminal}
        reply = self._client._open("GET", f"/v1/jobs/{self.uid}/attach", query, None, headers)
        if reply.status != 101 or reply.headers.get("sec-websocket-accept") != _WebSocket.answer(key):
            reply.wire.close()
            raise _foreign("it is not that of a WebSocket")
        return _WebSocket(reply.wire)

    def __iter__(self) -> "Attachment":
        return self

    def __next__(self) -> Union[bytes, Record]:
        with self._reading:
            while not self._kept:
                if self._over or self._closed:
                    raise StopIteration
                self._pump()
            return self._kept.popleft()

    def _pump(self) -> None:
        """Receive one message. The caller holds _reading."""
        ws = self._ws
        try:
            kind, data = ws.receive()
        except _WSClosed as err:
            if self._closed:
                return
            if err.code == 1000:
                self._end()
            elif err.code in (1001, 1005, 1006):
                self._again(_Broken(err))
            else:
                self._end()
                raise Error("internal", "attach", f"the daemon has closed the attachment: {err}") from err
            return
        except _Broken as err:
            if self._closed:
                ws.free()
            else:
                self._again(err)
            return
        if kind == _WS_BINARY:
            self.offset += len(data)
            self._kept.append(data)
            return
        said = _decode(data)
        with self._state:
            if said["type"] == "gap":
                self.gaps.append(Gap(said["from"], said["to"]))
                self.offset = said["to"]
            elif said["type"] == "lease":
                self.held = bool(said.get("held"))
            elif said["type"] in ("written", "failed"):
                self._unwritten = max(self._unwritten - 1, 0)
            self._state.notify_all()
        self._kept.append(said)
        if said["type"] == "ended":
            self._end()

    def _end(self) -> None:
        with self._state:
            self._over = True
            self._state.notify_all()
        self._ws.close()
        self._ws.free()

    def _again(self, err: Error) -> None:
        """Attach to the same job of the next daemon, at the same byte. The caller holds _reading."""
        self._ws.free()
        lease = "take" if self.held else "ask" if self._asks else None
        while not self._closed:
            try:
                self._away.next(err)
            except Error:
                self._end()
                raise
            try:
                ws = self._connect(lease)
            except Error as other:
                err = other
                continue
            self._away.arrived()
            with self._state:
                self._ws, self._unwritten, self._turn = ws, 0, self._turn + 1
                self._state.notify_all()
            return

    def _send(self, kind: int, data: bytes) -> None:
        """Send one message, after a broken connection to the next daemon."""
        while True:
            with self._state:
                ws, turn = self._ws, self._turn
                if self._over or self._closed:
                    raise Error("job_finished", "attach", "the attachment has ended")
            try:
                ws.send(kind, data)
                return
            except Error as err:
                if not _left(err):
                    raise
            self._await(lambda: self._turn != turn or self._over or self._closed)

    def _await(self, met: Callable[[], bool]) -> None:
        """Wait until the reader of the attachment has met a condition; without a reader this thread reads."""
        while not met():
            if self._reading.acquire(blocking=False):
                try:
                    if not met():
                        self._pump()
                finally:
                    self._reading.release()
            else:
                with self._state:
                    if not met():
                        self._state.wait(0.1)  # the reader may leave its loop

    def write(self, data: Union[str, bytes]) -> None:
        """Type, or write to the pipe. Needs the input lease: the event lease says when this client has it."""
        rest = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
        while rest:
            piece, rest = rest[:_MAX_ATTACH_INPUT], rest[_MAX_ATTACH_INPUT:]
            self._await(lambda: self._unwritten < _UNWRITTEN_MOST or self._over or self._closed)
            with self._state:
                self._unwritten += 1
            self._send(_WS_BINARY, piece)

    def _say(self, kind: str, **more: int) -> None:
        self._send(_WS_TEXT, json.dumps({"type": kind, **more}).encode())

    def close_input(self) -> None:
        """End the standard input of the job."""
        self._say("close_input")

    def resize(self, rows: int, cols: int) -> None:
        """Change the size of the terminal; needs the lease."""
        self._say("resize", rows=rows, cols=cols)

    def repaint(self) -> None:
        """Make the program paint again."""
        self._say("repaint")

    def ask(self) -> None:
        """Ask for the input lease."""
        self._asks = True
        self._say("ask")

    def take(self) -> None:
        """Take the input lease, also from another client."""
        self._asks = True
        self._say("take")

    def yield_(self) -> None:
        """Give the input lease up."""
        self._asks = False
        self._say("yield")

    def refuse(self) -> None:
        """Keep the input lease that another client asks for."""
        self._say("refuse")

    def close(self) -> None:
        """Leave the job, which runs on."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        self._ws.close()
        if self._reading.acquire(blocking=False):
            self._ws.free()
            self._reading.release()

    def __enter__(self) -> "Attachment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
