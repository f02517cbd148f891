"""Tests of the client against a real daemon: TROUPE_PROGRAM is the program. Each test waits for events, never for time."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from typing import Callable, Set

import troupe

PROGRAM = os.environ.get("TROUPE_PROGRAM", "troupe")
HERE = pathlib.Path(__file__).resolve().parent
TOO_LONG = 120.0
STUBBORN = "trap '' TERM; echo begun; while :; do sleep 600; done"  # it ends when its grace has passed


class Place:
    """Directories of their own for a daemon, which is ended with its jobs."""

    def __init__(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="troupe-py-")
        self.old = dict(os.environ)
        for name in [name for name in os.environ if name.startswith("TROUPE_")]:
            del os.environ[name]
        for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ[name] = self.dir
        os.environ["PATH"] = os.path.dirname(os.path.abspath(shutil.which(PROGRAM) or PROGRAM)) + os.pathsep + self.old["PATH"]

    def connect(self, **how: object) -> troupe.Client:
        return troupe.connect(program=PROGRAM, **how)  # type: ignore[arg-type]

    def file(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def end(self) -> None:
        subprocess.run(["troupe", "shutdown", "--stop-jobs", "--grace", "0"], executable=shutil.which(PROGRAM), capture_output=True, timeout=TOO_LONG)
        os.environ.clear()
        os.environ.update(self.old)
        shutil.rmtree(self.dir, ignore_errors=True)


def stopped(pid: int) -> None:
    """Stop a process, and return when none of its threads runs."""
    os.kill(pid, signal.SIGSTOP)
    threads = pathlib.Path("/proc", str(pid), "task")
    while any(") T " not in (thread / "stat").read_text() for thread in threads.iterdir()):
        pass


def killed(client: troupe.Client) -> int:
    """Kill the daemon, and return when its process has gone."""
    pid = client.version().pid
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    return pid


def ended(pid: int) -> None:
    """Wait until a process has gone."""
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return
    if handle is not None:
        with open(handle, "rb") as fd, contextlib.suppress(OSError):
            if not select.select([fd], [], [], TOO_LONG)[0]:
                raise AssertionError(f"process {pid} lives")


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class WithDaemon(unittest.TestCase):
    """Tests that share a daemon."""

    place: Place
    daemon: troupe.Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.place = Place()
        cls.daemon = cls.place.connect()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.daemon.close()
        cls.place.end()


class OwnDaemon(unittest.TestCase):
    """Tests that end their daemon."""

    def setUp(self) -> None:
        self.place = Place()
        self.addCleanup(self.place.end)
        self.daemon = self.place.connect()
        self.addCleanup(self.daemon.close)


class RunTest(WithDaemon):
    def test_a_run_has_its_record_and_output(self) -> None:
        r = self.daemon.run("echo out; echo err >&2; exit 3")
        self.assertEqual((r.outcome, r.exit_code, r.ok, r.output, r.stderr, r.truncated), ("exited", 3, False, b"out\nerr\n", b"", False))
        self.assertEqual(r.record.state, "finished")
        r = self.daemon.run("echo out; echo err >&2", streams="separate", check=True)
        self.assertEqual((r.output, r.stderr), (b"out\n", b"err\n"))

    def test_a_list_is_argv_and_a_string_shell_text(self) -> None:
        self.assertEqual(self.daemon.run(["printf", "%s|", "a b", "$HOME", "*"]).output, b"a b|$HOME|*|")
        self.assertEqual(self.daemon.run("printf '%s|' $((1 + 1)) b").output, b"2|b|")

    def test_directory_and_environment_are_those_of_the_program(self) -> None:
        self.assertEqual(self.daemon.run(["pwd"]).text, os.getcwd() + "\n")
        self.assertEqual(self.daemon.run(["pwd"], cwd=pathlib.Path("/")).text, "/\n")
        os.environ["TROUPE_PY_TEST"] = "ours"
        self.addCleanup(os.environ.pop, "TROUPE_PY_TEST")
        self.assertEqual(self.daemon.run("echo $TROUPE_PY_TEST $MORE", env={"MORE": "more"}).text, "ours more\n")
        self.assertEqual(self.daemon.run("echo $TROUPE_PY_TEST $MORE", env={"MORE": "more"}, env_policy="allow").text, "more\n")

    def test_how_a_run_ends(self) -> None:
        r = self.daemon.run("kill -KILL $$")
        self.assertEqual((r.outcome, r.exit_code, r.record.signal), ("signaled", None, "KILL"))
        r = self.daemon.run(["sleep", "600"], timeout=0.2, grace=0.0)
        self.assertEqual((r.outcome, r.record.cause.by), ("timed_out", "deadline"))
        with self.assertRaises(troupe.Error) as e:
            r.check()
        self.assertEqual((e.exception.code, e.exception.reason), ("timed_out", "deadline"))
        with self.assertRaises(troupe.Error) as e:
            self.daemon.run("exit 7", check=True)
        self.assertEqual((e.exception.code, e.exception.record.exit_code), ("exited", 7))  # type: ignore[union-attr]

    def test_output_of_any_bytes(self) -> None:
        want = bytes(range(256)) * 1000
        with open(self.place.file("bytes"), "wb") as file:
            file.write(want)
        r = self.daemon.run(["cat", self.place.file("bytes")])
        self.assertEqual(r.output, want)
        self.assertEqual((r.output.start, r.output.end), (0, len(want)))
        self.assertIn("\ufffd", r.text)
        self.assertEqual(r.job.output(offset=1000, limit=300), want[1000:1300])

    def test_a_large_output_has_its_end_in_the_result(self) -> None:
        r = self.daemon.run("seq 1 200000", capture=1000)
        self.assertTrue(r.truncated)
        self.assertEqual((len(r.output), r.output[-7:]), (1000, b"200000\n"))
        self.assertEqual(r.job.output(), "".join(f"{n}\n" for n in range(1, 200001)).encode())
        with self.assertRaises(troupe.Error) as e:
            self.daemon.run("head -c 17000000 /dev/zero; exit 4")
        self.assertEqual((e.exception.code, e.exception.reason, e.exception.record.exit_code), ("too_large", "output", 4))  # type: ignore[union-attr]
        job = self.daemon.job(e.exception.record.uid)  # type: ignore[union-attr]
        with self.assertRaises(troupe.Error) as e:
            job.output()
        self.assertEqual((e.exception.code, e.exception.reason), ("too_large", "output"))
        self.assertEqual(len(job.output(limit=17_000_000)), 17_000_000)

    def test_a_gap_is_an_error_with_what_was_kept(self) -> None:
        with self.assertRaises(troupe.Error) as e:
            self.daemon.run("seq 1 200; exit 4", max_output={"bytes": 100, "policy": "elide"})
        whole, record = "".join(f"{n}\n" for n in range(1, 201)).encode(), e.exception.record
        self.assertEqual((e.exception.code, e.exception.reason, record.exit_code), ("output_unavailable", "gap", 4))  # type: ignore[union-attr]
        kept = e.exception.output
        gap, = kept.gaps  # type: ignore[union-attr]
        self.assertEqual(kept, whole[:gap.start] + whole[gap.end:])
        self.assertEqual([list(gap)], [[g["from"], g["to"]] for g in record.output.merged.elided])  # type: ignore[union-attr]
        job = self.daemon.job(record.uid)  # type: ignore[union-attr]
        follow = job.follow()
        self.assertEqual(b"".join(follow), kept)
        self.assertEqual((follow.gaps, follow.offset), ([gap], len(whole)))
        with self.assertRaises(troupe.Error) as e:
            job.output()
        self.assertEqual((e.exception.reason, e.exception.output, e.exception.output.gaps), ("gap", kept, [gap]))  # type: ignore[union-attr]
        self.assertEqual(job.output(offset=gap.end), whole[gap.end:])
        with self.assertRaises(troupe.Error) as e:
            self.daemon.run("echo out; seq 1 200 >&2", max_output={"bytes": 100, "policy": "elide"}, streams="separate")
        self.assertEqual((e.exception.output, e.exception.stderr), (b"out\n", kept))

    def test_input_of_a_run(self) -> None:
        data = os.urandom(1_000_000)
        self.assertEqual(self.daemon.run(["cat"], input=data).output, data)
        self.assertEqual(self.daemon.run("read a; echo $a", input="one\ntwo\n").text, "one\n")
        self.assertEqual(self.daemon.run(["true"], input=data).ok, True)  # it reads nothing
        self.assertEqual(self.daemon.run(["cat"], input=b"").output, b"")
        first = self.daemon.spawn(["sleep", "600"], name="replaced")  # a run that replaces another job is known late
        self.assertEqual(self.daemon.run(["cat"], input=b"x", name="replaced", replace=True).output, b"x")
        self.assertEqual(first.record().outcome, "cancelled")

    def test_commands_that_are_not_utf8(self) -> None:
        for command in ([b"printf", b"\xff\xfe"], ["printf", os.fsdecode(b"\xff\xfe")], b"printf '\xff\xfe'", os.fsdecode(b"printf '\xff\xfe'")):
            self.assertEqual(self.daemon.run(command).output, b"\xff\xfe", command)
        where = os.fsencode(self.place.dir) + b"/\xff"
        os.mkdir(where)
        self.assertEqual(self.daemon.run(["pwd"], cwd=where).output, where + b"\n")
        self.assertEqual(self.daemon.run("printf \"$V\"", env={"V": os.fsdecode(b"\xfd")}).output, b"\xfd")

    def test_a_key_joins_the_first_run(self) -> None:
        command = f"echo x >> {self.place.file('once')}"
        uids = {self.daemon.run(command, key="k1").record.uid for _ in range(3)}
        self.assertEqual((len(uids), pathlib.Path(self.place.file("once")).read_text()), (1, "x\n"))

    def test_a_command_that_cannot_start(self) -> None:
        for command in (["/nonexistent"], ["/etc/passwd"]):
            r = self.daemon.run(command, input="unread")
            self.assertEqual((r.ok, r.outcome, r.exit_code, r.output, r.record.error.code), (False, "failed_to_start", None, b"", "spawn_failed"))
            with self.assertRaises(troupe.Error) as e:
                r.check()
            self.assertEqual((e.exception.code, e.exception.reason, e.exception.record), ("spawn_failed", r.record.error.reason, r.record))
            with self.assertRaises(troupe.Error) as e:
                self.daemon.spawn(command)
            self.assertEqual((e.exception.code, e.exception.record.outcome), ("spawn_failed", "failed_to_start"))  # type: ignore[union-attr]

    def test_errors(self) -> None:
        for command, options, code, reason in (
            (["true"], {"cwd": "/nonexistent"}, "cwd_not_found", "ENOENT"),
            ("true", {"on_exit": "explode"}, "invalid_params", "on_exit"),
            ([], {}, "invalid_params", "empty_command"),
        ):
            for call in (self.daemon.run, self.daemon.spawn):
                with self.assertRaises(troupe.Error) as e:
                    call(command, **options)  # type: ignore[operator]
                self.assertEqual((e.exception.code, e.exception.reason), (code, reason))
                self.assertTrue(e.exception.message)
        with self.assertRaises(troupe.Error) as e:
            self.daemon.run("echo out; exit 7", check=True)
        self.assertEqual((e.exception.code, e.exception.output), ("exited", b"out\n"))
        with self.assertRaises(troupe.Error) as e:
            self.daemon.job("no-such-job")
        self.assertEqual(e.exception.code, "not_found")
        self.assertTrue(e.exception.hint and e.exception.hint in str(e.exception))
        with self.assertRaises(TypeError):
            self.daemon.run("true", tiemout=3)  # type: ignore[call-arg]

    def test_a_cancelled_run_is_stopped(self) -> None:
        cancel = troupe.Cancel()
        started = self.daemon.events()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.daemon.run, "sleep 600 & exec sleep 600", cancel=cancel, name="cancelled")
            job = next(e.job for e in started if e.event == "command_started" and e.job.name == "cancelled")
            cancel.cancel()
            with self.assertRaises(troupe.Error) as e:
                run.result(TOO_LONG)
            self.assertEqual(e.exception.code, "cancelled")
        self.assertFalse(alive(job.pid))
        end = self.daemon.job(job.uid).record()
        self.assertEqual((end.state, end.outcome, end.cause.by), ("finished", "cancelled", "client"))
        for call in (self.daemon.run, self.daemon.spawn):
            with self.assertRaises(troupe.Error) as e:
                call("true", name="unwanted", cancel=cancel)  # type: ignore[operator]
            self.assertEqual(e.exception.code, "cancelled")
        started.close()
        self.assertNotIn("unwanted", [r.name for r in self.daemon.jobs(finished=True)])

    def cancelled(self, key: str, joins: Callable[[troupe.Record], None] = lambda record: None) -> troupe.Record:
        """Cancel a run with a key, whose command ignores TERM, and return its record."""
        cancel = troupe.Cancel()
        with self.daemon.events() as events, concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.daemon.run, STUBBORN, cancel=cancel, key=key, name=key, grace=0.3)
            job = next(e.job for e in events if e.event == "command_started" and e.job.name == key)
            self.daemon.job(job.uid).wait(TOO_LONG, pattern="begun")
            joins(job)
            cancel.cancel()
            with self.assertRaises(troupe.Error) as e:
                run.result(TOO_LONG)
            self.assertEqual(e.exception.code, "cancelled")
        return self.daemon.job(job.uid).record()

    def test_a_cancelled_run_with_a_key_is_stopped_unless_another_waits(self) -> None:
        end = self.cancelled("alone")
        self.assertEqual((end.state, end.outcome), ("finished", "cancelled"))
        for n in range(10):
            key, others = f"shared{n}", []
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                def joins(record: troupe.Record) -> None:
                    others.append(pool.submit(self.daemon.run, STUBBORN, key=key, name=key, grace=0.3))
                    self.daemon.run("true")  # a later run

                try:
                    state = self.cancelled(key, joins).state
                finally:
                    self.daemon.job(key).stop()
                self.assertEqual(others[0].result(TOO_LONG).outcome, "cancelled")
            if state == "running":
                return
        self.fail("the other client has come too late each time")  # no event tells that it waits

    def test_an_interrupted_run_is_stopped(self) -> None:
        events = self.daemon.events()
        text = "import troupe\ntry:\n    troupe.connect(start=False).run('exec sleep 600', name='interrupted')\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(HERE)))
        job = next(e.job for e in events if e.event == "command_started" and e.job.name == "interrupted")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.stdout.readline(), b"interrupted\n")  # type: ignore[union-attr]
        self.assertFalse(alive(job.pid))
        end = self.daemon.job(job.uid).record()
        self.assertEqual((end.outcome, end.cause.by), ("cancelled", "client"))
        child.communicate(timeout=TOO_LONG)
        events.close()

    def test_two_hundred_threads(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            ready = threading.Barrier(200)

            def one(n: int) -> troupe.Result:
                ready.wait(TOO_LONG)
                return self.daemon.run(f"echo {n}; exit {n % 7}", scope=f"main/threads{n % 4}")

            for n, result in enumerate(pool.map(one, range(200))):
                self.assertEqual((result.text, result.exit_code), (f"{n}\n", n % 7))


class JobTest(WithDaemon):
    def test_follow_while_it_runs(self) -> None:
        os.mkfifo(self.place.file("gate"))
        job = self.daemon.spawn(f"echo one; read x < {self.place.file('gate')}; echo two")
        with job.follow() as follow:
            self.assertEqual(next(follow), b"one\n")
            with open(self.place.file("gate"), "w", encoding="ascii") as gate:
                gate.write("\n")
            self.assertEqual((b"".join(follow), follow.offset), (b"two\n", 8))
        self.assertEqual(job.wait(TOO_LONG).outcome, "exited")
        self.assertEqual(b"".join(job.follow(offset=4)), b"two\n")

    def test_close_ends_a_follow(self) -> None:
        job = self.daemon.spawn("echo one; exec sleep 600")
        follow = job.follow()
        self.assertEqual(next(follow), b"one\n")
        reader = concurrent.futures.ThreadPoolExecutor(1)
        rest = reader.submit(lambda: b"".join(follow))
        follow.close()
        self.assertEqual(rest.result(TOO_LONG), b"")
        reader.shutdown()
        self.assertEqual(job.record().state, "running")
        job.stop(0)

    def test_input_of_a_job(self) -> None:
        job = self.daemon.spawn(["cat"], stdin="pipe")
        self.assertEqual(job.write("a\n"), 2)
        self.assertEqual(job.write(b"\xff" * 600_000), 600_002)
        job.close_input()
        self.assertEqual(job.wait(TOO_LONG).exit_code, 0)
        self.assertEqual(job.output(), b"a\n" + b"\xff" * 600_000)
        with self.assertRaises(troupe.Error) as e:
            job.write(b"late")
        self.assertIn(e.exception.code, ("job_finished", "no_input"))
        job.close_input()  # of a job that has finished

    def test_stop_and_signal(self) -> None:
        job = self.daemon.spawn("trap 'echo got USR1' USR1; sleep 600 & echo $!; while true; do wait; done")
        job.wait(TOO_LONG, pattern=r"\d\n")
        child = int(job.output())
        job.signal("USR1")
        job.wait(TOO_LONG, pattern="got USR1")
        self.assertEqual(job.stop(), [])
        self.assertEqual((job.record().outcome, job.record().cause.by), ("cancelled", "client"))
        self.assertFalse(alive(child))
        self.assertEqual(job.stop(), [])  # once more changes nothing

    def test_wait(self) -> None:
        job = self.daemon.spawn("read x; exit 4", stdin="pipe")
        with self.assertRaises(troupe.Error) as e:
            job.wait(0.05)
        self.assertEqual((e.exception.code, e.exception.reason), ("timed_out", "wait"))
        job.wait(TOO_LONG, input=True)
        job.write("\n")
        self.assertEqual(job.wait(TOO_LONG).exit_code, 4)
        with self.assertRaises(troupe.Error) as e:
            job.wait(TOO_LONG, pattern="never")
        self.assertEqual((e.exception.code, e.exception.reason), ("impossible", "pattern"))

    def test_promote(self) -> None:
        events = self.daemon.events()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.daemon.run, "echo begun; exec sleep 600", name="promoted")
            uid = next(e.job.uid for e in events if e.event == "command_started" and e.job.name == "promoted")
            job = self.daemon.job(uid)
            job.wait(TOO_LONG, pattern="begun")
            self.assertIn("kept", job.promote().flags)
            result = run.result(TOO_LONG)
        events.close()
        self.assertEqual((result.outcome, result.record.background, result.text), (None, True, "begun\n"))
        job.stop(0)
        self.assertIsNone(self.daemon.run("exec sleep 600", promote_after=0.05, name="budget").outcome)
        self.daemon.job("budget").stop(0)

    def test_jobs_are_listed(self) -> None:
        uids = [self.daemon.run(["true"], scope="main/listed").record.uid for _ in range(3)]
        self.assertEqual([r.uid for r in self.daemon.jobs("main/listed", finished=True)], uids)
        self.daemon.job(uids[0]).remove()
        self.assertEqual([r.uid for r in self.daemon.jobs("main/listed", finished=True)], uids[1:])

    def test_screen_and_keys(self) -> None:
        job = self.daemon.spawn("read a; echo \"<$a>\"; read b", terminal=(10, 40))
        job.wait(TOO_LONG, input=True)
        job.keys("hello{enter}")
        job.wait(TOO_LONG, pattern="<hello>")
        self.assertEqual(job.screen()[:2], ["hello", "<hello>"])
        job.stop(0)


class SessionTest(WithDaemon):
    def test_state_stays(self) -> None:
        with self.daemon.session("dev", cwd="/", env={"FROM": "plan"}) as s:
            s.run("cd /tmp; X=5; f() { echo f $1; }", check=True)
            self.assertEqual(s.run("pwd; echo $X $FROM; f y").text, "/tmp\n5 plan\nf y\n")
            self.assertEqual(s.run("pwd; echo $V", cwd="/usr", env={"V": "v"}).text, "/usr\nv\n")
            self.assertEqual(s.run("cat; pwd", input="in\n").text, "in\n/usr\n")
            job = s.spawn("echo spawned; exit 3 || true")
            self.assertEqual(job.wait(TOO_LONG).session, "dev")
        self.assertNotIn("dev", [x.session for x in self.daemon.call("GET", "/v1/sessions").sessions])

    def test_another_backend_is_refused(self) -> None:
        with self.daemon.session("kind"):
            with self.assertRaises(troupe.Error) as e:
                self.daemon.session("kind", backend="shell-pty")
            self.assertEqual(e.exception.code, "conflict")
            with self.daemon.session("pipes", backend="pipe") as pipes:
                self.assertEqual(pipes.run("echo $X", env={"X": "set"}).text, "set\n")


class EventsTest(WithDaemon):
    def test_a_cursor_continues(self) -> None:
        uids = [self.daemon.run(["true"], scope="main/cursor").record.uid for _ in range(4)]
        first = self.daemon.events(0, scope="main/cursor", ends=True)
        self.assertEqual([next(first).job.uid for _ in range(2)], uids[:2])
        first.close()
        self.assertEqual([e.job.uid for e in self.daemon.events(first.cursor, scope="main/cursor", ends=True, past=True)], uids[2:])

    def test_close_ends_a_reader(self) -> None:
        events = self.daemon.events(scope="main/silent")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            rest = pool.submit(lambda: list(events))
            events.close()
            self.assertEqual(rest.result(TOO_LONG), [])


class AttachTest(WithDaemon):
    def read(self, at: troupe.Attachment, until: bytes) -> bytes:
        seen = b""
        for x in at:
            if isinstance(x, bytes):
                seen += x
            if until in seen:
                break
        return seen

    def test_a_terminal(self) -> None:
        job = self.daemon.spawn("read a; echo \"<$a>\"; stty size; read b; stty size; exit 2", terminal=(24, 80))
        with self.daemon.attach(job) as at:
            self.assertEqual(next(at).type, "hello")  # type: ignore[union-attr]
            at.write("hello\r")
            self.assertIn(b"24 80", self.read(at, b"24 80"))
            self.assertTrue(at.held)
            at.resize(30, 100)
            at.write("\r")
            rest = list(at)
        self.assertIn(b"30 100", b"".join(x for x in rest if isinstance(x, bytes)))
        self.assertEqual(rest[-1].type, "ended")  # type: ignore[union-attr]
        self.assertEqual(job.wait(TOO_LONG).exit_code, 2)

    def test_much_input_and_output(self) -> None:
        data = os.urandom(3_000_000)
        job = self.daemon.spawn(["cat"], stdin="pipe")
        with job.attach(lease="take") as at:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                def send() -> None:
                    at.write(data)
                    at.close_input()

                sent = pool.submit(send)
                got = b"".join(x for x in at if isinstance(x, bytes))
                sent.result(TOO_LONG)
        self.assertEqual(got, data)
        self.assertEqual(at.offset, len(data))

    def test_one_thread_writes_and_reads(self) -> None:
        data = b"x" * 1_500_000
        job = self.daemon.spawn("cat > /dev/null; echo done", stdin="pipe")
        with job.attach(lease="take") as at:
            at.write(data)
            at.close_input()
            self.assertEqual(self.read(at, b"done\n"), b"done\n")

    def test_the_lease_moves(self) -> None:
        job = self.daemon.spawn(["cat"], terminal=(24, 80))
        with job.attach(lease="take") as one, job.attach(lease=None) as two:
            self.expect(one, "lease", held=True)
            two.ask()
            self.expect(one, "asked")
            one.yield_()
            self.expect(two, "lease", held=True)
            self.assertTrue(two.held)
            self.expect(one, "lease", held=False)
            with self.assertRaises(troupe.Error) as e:
                self.daemon.attach("no-such-job")
            self.assertEqual(e.exception.code, "not_found")
        job.stop(0)

    def expect(self, at: troupe.Attachment, kind: str, held: bool = False) -> None:
        for x in at:
            if not isinstance(x, bytes) and x.type == kind and bool(x.get("held")) == held:
                return
        self.fail(f"the attachment ended without {kind}")


class FramesTest(unittest.TestCase):
    """The WebSocket against a peer that sends frames as no daemon does."""

    def setUp(self) -> None:
        ours, self.peer = socket.socketpair()
        self.ws = troupe._WebSocket(troupe._Wire(ours))
        self.addCleanup(ours.close)
        self.addCleanup(self.peer.close)

    def frame(self, first: int, data: bytes) -> None:
        n = len(data)
        head = bytes([first, n]) if n < 126 else struct.pack(">BBH", first, 126, n) if n < 65536 else struct.pack(">BBQ", first, 127, n)
        self.peer.sendall(head + data)

    def sent(self) -> tuple:
        """Read one frame of the client, without its mask."""
        first, second = self.peer.recv(2, socket.MSG_WAITALL)
        self.assertTrue(second & 0x80, "a client masks its frames")
        n = second & 0x7F
        if n == 126:
            n = struct.unpack(">H", self.peer.recv(2, socket.MSG_WAITALL))[0]
        elif n == 127:
            n = struct.unpack(">Q", self.peer.recv(8, socket.MSG_WAITALL))[0]
        mask = self.peer.recv(4, socket.MSG_WAITALL)
        data = self.peer.recv(n, socket.MSG_WAITALL) if n else b""
        return first, bytes(b ^ mask[i % 4] for i, b in enumerate(data))

    def test_sizes_and_masks(self) -> None:
        for n in (0, 1, 125, 126, 65535, 65536):
            data = os.urandom(n)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                done = pool.submit(self.ws.send, 2, data)
                self.assertEqual(self.sent(), (0x82, data))
                done.result(TOO_LONG)
                done = pool.submit(self.frame, 0x82, data)
                self.assertEqual(self.ws.receive(), (2, data))
                done.result(TOO_LONG)

    def test_fragments_with_a_ping_between(self) -> None:
        self.frame(0x01, "ä".encode()[:1])
        self.frame(0x89, b"are you there")
        self.frame(0x00, "ä".encode()[1:])
        self.frame(0x8A, b"")
        self.frame(0x80, b"!")
        self.assertEqual(self.ws.receive(), (1, "ä!".encode()))
        self.assertEqual(self.sent(), (0x8A, b"are you there"))

    def test_a_close_is_answered(self) -> None:
        self.frame(0x88, struct.pack(">H", 1001) + b"going")
        with self.assertRaises(troupe._WSClosed) as e:
            self.ws.receive()
        self.assertEqual((e.exception.code, e.exception.reason), (1001, "going"))
        self.assertEqual(self.sent(), (0x88, struct.pack(">H", 1001)))
        self.assertEqual(self.peer.recv(1), b"")

    def test_wrong_frames_end_it(self) -> None:
        for frames, code in (
            ([(0x80, b"a rest of nothing")], 1002), ([(0x01, b"a"), (0x81, b"b")], 1002), ([(0xC2, b"reserved")], 1002), ([(0x09, b"a ping in parts")], 1002), ([(0x83, b"?")], 1002),
        ):
            self.setUp()
            for first, data in frames:
                self.frame(first, data)
            with self.assertRaises(troupe.Error):
                self.ws.receive()
            self.assertEqual(self.sent(), (0x88, struct.pack(">H", code)))
        self.setUp()
        self.peer.sendall(struct.pack(">BBQ", 0x82, 127, 1 << 40))
        with self.assertRaises(troupe.Error):
            self.ws.receive()
        self.assertEqual(self.sent(), (0x88, struct.pack(">H", 1009)))

    def test_the_answer_of_the_handshake(self) -> None:
        self.assertEqual(troupe._WebSocket.answer("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")  # RFC 6455, 1.3


class RestartTest(OwnDaemon):
    """The daemon is killed by its process id; the client, or another one, starts the next."""

    def test_events_continue(self) -> None:
        events = self.daemon.events(ends=True)
        before = self.daemon.run(["true"]).record.uid
        self.assertEqual(next(events).job.uid, before)
        os.mkfifo(self.place.file("gate"))
        meanwhile = self.daemon.spawn(f"read x < {self.place.file('gate')}").uid
        killed(self.daemon)
        with open(self.place.file("gate"), "w", encoding="ascii") as gate:  # it ends while no daemon runs
            gate.write("\n")
        after = self.daemon.run(["true"]).record.uid
        self.assertEqual({next(events).job.uid for _ in range(2)}, {meanwhile, after})
        with self.daemon.events(0, ends=True, past=True) as past:
            self.assertEqual(sorted(e.job.uid for e in past), sorted([before, meanwhile, after]))
        events.close()

    def test_a_journal_that_was_replaced(self) -> None:
        before = [self.daemon.run(["true"]).record.uid for _ in range(2)]
        events = self.daemon.events(0, ends=True)
        self.assertEqual([next(events).job.uid for _ in range(2)], before)
        cursor, journal = events.cursor, events.journal
        self.assertTrue(journal)
        killed(self.daemon)
        os.remove(self.place.file("troupe/journal.db"))
        after = [self.daemon.run(["true"]).record.uid for _ in range(6)]  # its numbers pass the cursor

        def told(following: "troupe.Events") -> None:
            gap = next(following)
            self.assertEqual((gap.event, gap.seq, gap["from"]), ("facts_dropped", 0, cursor + 1))
            seen = [next(following)]
            while seen[-1].job.uid != after[-1]:
                seen.append(next(following))
            self.assertEqual([e.job.uid for e in seen if e.job.uid not in before], after)
            self.assertGreater(seen[-1].seq, cursor)

        told(events)
        self.assertNotEqual(events.journal, journal)
        with self.daemon.events(cursor, journal=journal, ends=True, past=True) as past:
            told(past)
        events.close()

    def test_jobs_stop_with_the_lease_of_their_scope(self) -> None:
        with self.daemon.lease("agent"):
            first = self.daemon.spawn(["sleep", "600"], scope="agent")
            killed(self.daemon)
        self.assertEqual(first.record().cause["by"], "scope")
        text = f"""if True:
            import sys, troupe
            client = troupe.connect(program={PROGRAM!r})
            client.lease("agent")
            print(client.spawn(["sleep", "600"], scope="agent").uid, flush=True)
            sys.stdin.read()"""
        holder = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE)
        assert holder.stdout is not None and holder.stdin is not None
        job = self.daemon.job(holder.stdout.readline().decode().strip())
        holder.kill()
        record = job.wait()
        self.assertEqual((record.outcome, record.cause["by"]), ("cancelled", "scope"))
        holder.stdin.close()
        holder.stdout.close()
        holder.wait()

    def test_a_child_does_not_hold_a_lease(self) -> None:
        text = f"""if True:
            import multiprocessing, os, sys, troupe
            client = troupe.connect(program={PROGRAM!r})
            lease = client.lease("agent")
            pid = os.fork()
            if pid == 0:
                lease.close()  # it is that of the parent
                client.run(["touch", {self.place.file('forked')!r}])
                sys.stdin.read()
                os._exit(0)
            child = multiprocessing.get_context("fork").Process(target=os.read, args=(os.dup(0), 1))
            child.start()
            print(client.spawn(["sleep", "600"], scope="agent").uid, pid, child.pid, flush=True)
            sys.stdin.read()"""
        holder = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE)
        assert holder.stdout is not None and holder.stdin is not None
        uid, *pids = holder.stdout.readline().decode().split()
        job = self.daemon.job(uid)
        holder.kill()
        record = job.wait(TOO_LONG)
        self.assertEqual((record.outcome, record.cause["by"]), ("cancelled", "scope"))
        self.assertTrue(all(alive(int(pid)) for pid in pids))
        holder.stdin.close()
        holder.stdout.read()  # to the end of the children
        holder.stdout.close()
        holder.wait()
        self.assertTrue(os.path.exists(self.place.file("forked")))

    def test_a_child_has_leases_of_its_own(self) -> None:
        with self.daemon.lease("agent") as lease:
            job = self.daemon.spawn(["sleep", "600"], scope="agent")
            pid = os.fork()
            if pid == 0:
                try:
                    with self.daemon.lease("other"):
                        self.daemon.spawn(["sleep", "600"], scope="other", name="other")
                    os._exit(0 if self.daemon.job("other").record().cause["by"] == "scope" else 1)
                finally:
                    os._exit(2)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            pid = os.fork()
            if pid == 0:
                lease.close()
                os._exit(0)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertEqual(job.record().state, "running")
        self.assertEqual(job.record().cause["by"], "scope")

    def test_a_run_that_is_cancelled_without_a_daemon_is_stopped(self) -> None:
        noticed, pause = threading.Event(), troupe._pause

        def noticing(*how: object) -> None:
            noticed.set()
            pause(*how)  # type: ignore[arg-type]

        for key in (None, "key"):
            cancel = troupe.Cancel()
            started = self.daemon.events()
            with concurrent.futures.ThreadPoolExecutor(1) as pool, unittest.mock.patch.object(troupe, "_pause", noticing):
                run = pool.submit(self.daemon.run, ["sleep", "600"], cancel=cancel, key=key)
                job = next(e.job for e in started if e.event == "command_started")
                started.close()
                noticed.clear()
                killed(self.daemon)
                self.assertTrue(noticed.wait(TOO_LONG))  # the run has lost its daemon
                cancel.cancel()
                with self.assertRaises(troupe.Error) as e:
                    run.result(TOO_LONG)
            self.assertEqual(e.exception.code, "cancelled")
            self.assertFalse(alive(job.pid), key)  # no other client has started the next daemon
            self.assertEqual(self.daemon.job(job.uid).record().outcome, "cancelled")

    def test_after_an_orderly_end_only_a_new_call_starts_a_daemon(self) -> None:
        shim, calls = self.place.file("shim"), pathlib.Path(self.place.file("calls"))
        with open(shim, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\necho "$*" >> {calls}\nexec {shutil.which(PROGRAM)} "$@"\n')
        os.chmod(shim, 0o700)
        self.daemon._program = shim
        job = self.daemon.spawn("echo one; exec sleep 600", stdin="pipe")
        follow, events, lease, at = job.follow(), self.daemon.events(), self.daemon.lease("agent"), job.attach()
        self.assertEqual(next(follow), b"one\n")
        pid = self.daemon.version().pid
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            rest = [pool.submit(list, one) for one in (follow, events, at)]  # type: ignore[arg-type]
            self.daemon.call("POST", "/v1/shutdown")
            ended(pid)
            stand_in = socket.socket(socket.AF_UNIX)
            stand_in.settimeout(TOO_LONG)
            stand_in.bind(self.place.file("troupe/daemon.sock"))
            stand_in.listen()
            back: Set[str] = set()
            while back != {"output", "events", "attach", "leases"}:
                one = stand_in.accept()[0]
                back |= set(re.findall("(output|events|attach|leases)", one.recv(1 << 16).decode("latin-1").split("\r\n")[0]))
                one.close()
            os.unlink(self.place.file("troupe/daemon.sock"))
            stand_in.close()
            self.assertFalse(calls.exists())
            self.assertEqual(self.daemon.run("echo next").text, "next\n")
            self.assertRegex(calls.read_text(), r"\Aserve .*\n\Z")
            job.stop(0)
            for one in (follow, events, at):
                one.close()
            for done in rest:
                done.result(TOO_LONG)
        lease.close()

    def test_a_run_is_the_same_job(self) -> None:
        started = self.daemon.events()
        os.mkfifo(self.place.file("gate"))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.daemon.run, f"echo x >> {self.place.file('ran')}; read x < {self.place.file('gate')}; exit 5", name="gated")
            uid = next(e.job.uid for e in started if e.event == "command_started" and e.job.name == "gated")
            started.close()
            old = killed(self.daemon)
            job = self.daemon.job("gated")
            self.assertNotEqual(self.daemon.version().pid, old)
            with open(self.place.file("gate"), "w", encoding="ascii") as gate:
                gate.write("\n")
            result = run.result(TOO_LONG)
        self.assertEqual((result.exit_code, result.record.uid, job.uid), (5, uid, uid))
        self.assertEqual(pathlib.Path(self.place.file("ran")).read_text(), "x\n")

    def test_a_follow_goes_on_at_its_byte(self) -> None:
        os.mkfifo(self.place.file("gate"))
        job = self.daemon.spawn(f"seq 1 50000; read x < {self.place.file('gate')}; seq 50001 100000")
        follow = job.follow()
        got = next(follow)
        killed(self.daemon)
        while not got.endswith(b"\n50000\n"):
            got += next(follow)
        killed(self.daemon)
        with open(self.place.file("gate"), "w", encoding="ascii") as gate:
            gate.write("\n")
        got += b"".join(follow)
        self.assertEqual(got, "".join(f"{n}\n" for n in range(1, 100001)).encode())
        self.assertEqual((follow.gaps, job.wait(TOO_LONG).exit_code), ([], 0))

    def test_input_is_written_once(self) -> None:
        data = os.urandom(2_000_000)
        os.mkfifo(self.place.file("gate"))
        job = self.daemon.spawn(f"head -c 100000; read x < {self.place.file('gate')}; cat", stdin="pipe")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            written = pool.submit(job.write, data)
            follow = job.follow()
            got = b""
            while len(got) < 100_000:  # the writer waits now
                got += next(follow)
            killed(self.daemon)
            with open(self.place.file("gate"), "w", encoding="ascii") as gate:
                gate.write("\n")
            self.assertEqual(written.result(TOO_LONG), len(data))
        job.close_input()
        self.assertEqual(got + b"".join(follow), data)

    def test_an_attachment_goes_on(self) -> None:
        job = self.daemon.spawn("while read a; do echo \"<$a>\"; done", terminal=(24, 80))
        with job.attach(lease="take") as at:
            at.write("one\r")
            got = b""
            while b"<one>\r\n" not in got:
                x = next(at)
                got += x if isinstance(x, bytes) else b""
            killed(self.daemon)
            while True:
                x = next(at)
                if not isinstance(x, bytes) and x.type == "lease" and x.get("held"):
                    break
            at.write("two\r")
            got = b""
            while b"<two>\r\n" not in got:
                x = next(at)
                got += x if isinstance(x, bytes) else b""
            self.assertNotIn(b"one", got)
            at.write(b"\x04")
            self.assertEqual(list(at)[-1].type, "ended")  # type: ignore[union-attr]

    def test_a_wait_and_a_session_come_back(self) -> None:
        os.mkfifo(self.place.file("gate"))
        session = self.daemon.session("live")
        session.run("cd /tmp; X=7")
        job = self.daemon.spawn(f"read x < {self.place.file('gate')}; exit 6")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            wait = pool.submit(job.wait, TOO_LONG)
            killed(self.daemon)
            self.assertEqual(session.run("pwd; echo $X").text, "/tmp\n7\n")  # the shell lives in the keeper
            with open(self.place.file("gate"), "w", encoding="ascii") as gate:
                gate.write("\n")
            self.assertEqual(wait.result(TOO_LONG).exit_code, 6)


class RoomTest(unittest.TestCase):
    """One job runs at a time and two wait. They hold all the room of the daemon, until the gate is written to."""

    def setUp(self) -> None:
        self.place = Place()
        self.addCleanup(self.place.end)
        os.mkdir(self.place.file("troupe"), 0o700)
        with open(self.place.file("troupe/config.toml"), "w", encoding="ascii") as file:
            file.write("[limits]\nunstarted = 2\nparallel = 1\n")
        self.daemon = self.place.connect()
        self.addCleanup(self.daemon.close)
        os.mkfifo(self.place.file("gate"))
        self.first = self.daemon.spawn(f"read x < {self.place.file('gate')}")
        for _ in range(2):
            self.daemon.spawn(["true"])

    def test_a_start_waits_for_its_place(self) -> None:
        cancel = troupe.Cancel()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            run, job = pool.submit(self.daemon.run, "cat", input="ran"), pool.submit(self.daemon.spawn, "exit 3")
            given_up = [pool.submit(call, "true", cancel=cancel) for call in (self.daemon.run, self.daemon.spawn)]
            with self.assertRaises(troupe.Error) as e:
                self.daemon.run("true", timeout=0.3)  # after many tries of the others
            self.assertEqual(e.exception.code, "busy")
            cancel.cancel()
            for one in given_up:
                with self.assertRaises(troupe.Error) as e:
                    one.result(TOO_LONG)
                self.assertEqual(e.exception.code, "cancelled")
            with open(self.place.file("gate"), "w", encoding="ascii") as gate:
                gate.write("\n")
            self.assertEqual(run.result(TOO_LONG).text, "ran")
            self.assertEqual(job.result(TOO_LONG).wait(TOO_LONG).exit_code, 3)
        self.assertEqual(len(list(self.daemon.jobs(finished=True))), 5)  # none of what was given up

    def test_the_input_of_a_run_waits_for_its_start(self) -> None:
        self.first.stop(0)
        with self.daemon.session("dev") as session, concurrent.futures.ThreadPoolExecutor(2) as pool:
            os.mkfifo(self.place.file("other"))
            first = session.spawn(f"read x < {self.place.file('other')}")
            run = pool.submit(session.run, "cat", input="queued", name="queued")
            with self.daemon.events(0) as events:
                next(e for e in events if e.event == "command_queued" and e.job.name == "queued")
            with self.assertRaises(troupe.Error) as e:
                self.daemon.job("queued").write("early")
            self.assertEqual((e.exception.code, e.exception.reason), ("refused", "not_started"))
            with open(self.place.file("other"), "w", encoding="ascii") as gate:
                gate.write("\n")
            self.assertEqual(run.result(TOO_LONG).text, "queued")
            self.assertEqual(first.wait(TOO_LONG).exit_code, 0)

    def test_a_live_shell_with_a_full_queue(self) -> None:
        self.first.stop(0)
        session = self.daemon.session("dev")
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            results = list(pool.map(lambda n: session.run(f"echo {n}").text, range(20)))
        self.assertEqual(results, [f"{n}\n" for n in range(20)])


class ConnectTest(unittest.TestCase):
    def setUp(self) -> None:
        self.place = Place()
        self.addCleanup(self.place.end)

    def test_a_daemon_that_is_stopped(self) -> None:
        pid = self.place.connect().version().pid
        stopped(pid)
        self.addCleanup(os.kill, pid, signal.SIGCONT)  # before the end of the place
        with unittest.mock.patch.object(troupe, "_ANSWER_PATIENCE", 0.3), self.assertRaises(troupe.Error) as e:
            self.place.connect()
        self.assertEqual((e.exception.code, e.exception.reason), ("busy", "daemon"))

    def test_a_daemon_that_takes_no_connection(self) -> None:
        path = self.place.file("full.sock")
        with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as waiting:
            server.bind(path)
            server.listen(0)
            with contextlib.suppress(BlockingIOError):
                while True:
                    one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                    one.setblocking(False)
                    one.connect(path)
            with unittest.mock.patch.object(troupe, "_ANSWER_PATIENCE", 0.3), self.assertRaises(troupe.Error) as e:
                self.place.connect(socket=path)
            self.assertEqual((e.exception.code, e.exception.reason), ("busy", "daemon"))

    def test_without_a_daemon(self) -> None:
        with self.assertRaises(troupe.Error) as e:
            self.place.connect(start=False)
        self.assertEqual((e.exception.code, e.exception.reason), ("not_found", "daemon"))
        with self.assertRaises(troupe.Error) as e:
            troupe.connect(program="no-such-troupe")
        self.assertEqual((e.exception.code, e.exception.reason), ("not_found", "program"))

    def test_several_threads_start_one(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            pids = {c.version().pid for c in pool.map(lambda _: self.place.connect(), range(8))}
        self.assertEqual(len(pids), 1)

    def test_the_configuration_says_where(self) -> None:
        os.mkdir(self.place.file("troupe"), 0o700)
        config = self.place.file("troupe/config.toml")
        with open(config, "w", encoding="ascii") as file:
            file.write(f"# where\nsocket = \"{self.place.file('elsewhere.sock')}\"\nstate = '{self.place.file('elsewhere')}'\n[limits]\nstarts = 2\n")
        c = self.place.connect()
        self.assertEqual(c.version().state, self.place.file("elsewhere"))
        self.assertTrue(os.path.exists(self.place.file("elsewhere.sock")))
        os.unlink(self.place.file("elsewhere.sock"))  # the one in the state directory is found
        self.assertEqual(self.place.connect(start=False).version().pid, c.version().pid)
        os.chmod(config, 0o666)
        with self.assertRaises(troupe.Error) as e:
            self.place.connect()
        self.assertEqual((e.exception.code, e.exception.reason), ("refused", "config"))
        os.chmod(config, 0o600)

    def test_a_port_with_a_token(self) -> None:
        daemon = subprocess.Popen(["troupe", "serve", "--http", "127.0.0.1:0"], executable=shutil.which(PROGRAM), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert daemon.stderr is not None
        log = ""
        while '"message":"ready"' not in log:
            line = daemon.stderr.readline()
            self.assertTrue(line, log)
            log += line
        address = re.search(r"127\.0\.0\.1:\d+", log)
        assert address is not None, log
        token = pathlib.Path(self.place.file("troupe/token")).read_text().strip()
        c = troupe.connect("http://" + address[0], token)
        self.assertEqual(c.run("echo over TCP; exit 1").text, "over TCP\n")
        with c.attach(c.spawn(["echo", "hi"])) as at:
            self.assertEqual(b"".join(x for x in at if isinstance(x, bytes)), b"hi\n")
        with self.assertRaises(troupe.Error) as e:
            troupe.connect("http://" + address[0], "wrong")
        self.assertEqual((e.exception.code, e.exception.reason), ("refused", "token"))
        for url in ("http://192.0.2.1:80", "https://127.0.0.1:1", "http://127.0.0.1"):
            with self.assertRaises(troupe.Error) as e:
                troupe.connect(url, token)
            self.assertEqual((e.exception.code, e.exception.reason), ("invalid_params", "url"))
        c.close()
        subprocess.run(["troupe", "shutdown", "--stop-jobs", "--grace", "0"], executable=shutil.which(PROGRAM), timeout=TOO_LONG, check=True)
        daemon.communicate(timeout=TOO_LONG)

    def test_the_readme_runs(self) -> None:
        text = (HERE / "README.md").read_text(encoding="utf-8")
        block = re.search(r"```python\n(.*?)```", text, re.S)
        assert block is not None
        done = subprocess.run([sys.executable, "-c", block[1]], env=dict(os.environ, PYTHONPATH=str(HERE)), capture_output=True, text=True, timeout=TOO_LONG)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\Aexited 3 hi\n\nweb: Serving HTTP on 127\.0\.0\.1 port \d+ .*\ncancelled\n\Z")

    def test_a_fork_has_its_own_connections(self) -> None:
        c = self.place.connect()
        self.assertTrue(c.run(["true"]).ok)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if all(c.run(["echo", str(n)]).text == f"{n}\n" for n in range(20)) else 1)
        for n in range(20):
            self.assertEqual(c.run(["echo", str(-n)]).text, f"{-n}\n")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


class ValuesTest(unittest.TestCase):
    def test_the_configuration_before_python_3_11(self) -> None:
        text = "socket = \"/a\\tb\" # there\n  state='/c d'\nidle_exit = \"5m\"\n[mcp]\nsocket = \"/wrong\"\n"
        old = sys.version_info
        try:
            sys.version_info = (3, 9, 0)  # type: ignore[misc, assignment]
            self.assertEqual(troupe._toml(text), {"socket": "/a\tb", "state": "/c d", "idle_exit": "5m"})
        finally:
            sys.version_info = old  # type: ignore[misc]

    def test_ulids_are_in_order(self) -> None:
        made = [troupe._ulid() for _ in range(100)]
        self.assertEqual(len(set(made)), 100)
        self.assertTrue(all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", uid) for uid in made))

    def test_the_version_is_that_of_the_package(self) -> None:
        text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'(?m)^version = "(.*)"$', text), [troupe.__version__])

    def test_the_file_is_python_3_9(self) -> None:
        import ast

        ast.parse((HERE / "troupe.py").read_text(encoding="utf-8"), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
