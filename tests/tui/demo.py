"""The app on a terminal with the fake session, to be looked at: `python -m tests.tui.demo`. It is not a test."""

from __future__ import annotations

import os
import signal
import threading
import time

from capexplorer.model.controls import AddNote, Control, NewLevel, StepTo, Zero
from capexplorer.model.events import Command, Event, Note, Target
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.terminal import own_terminal

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import SessionMaker, header, ready


class DemoControls(FakeControls):
    """Controls that cause events, as in a live run."""

    def __init__(self, source: FakeSource, maker: SessionMaker) -> None:
        super().__init__(wanted=1)
        self._source, self._maker = source, maker

    def do(self, control: Control) -> str | None:
        why_not, t_s = super().do(control), self._maker.t_s
        match control:
            case StepTo() | Zero():
                users = self.state.load.users
                self._send(Command(t_s=t_s, name="users", args={"users": users}), *self._maker.open(users))
            case NewLevel():
                self._send(Command(t_s=t_s, name="new_level"), *self._maker.open(self.state.load.users))
            case AddNote(text):
                self._send(Command(t_s=t_s, name="note", args={"text": text}), Note(t_s=t_s, text=text))
        return why_not

    def _send(self, *events: Event) -> None:
        self._source.send(*events)


def feed(source: FakeSource, maker: SessionMaker) -> None:
    source.send(header(), Target(t_s=0.1, state="starting"), ready())
    source.send(*maker.open(1))
    while not source.closed:
        time.sleep(1)
        source.send(maker.tick())
        print("printed by user code \x1b[31m in red", flush=True)
        os.write(2, b"written to descriptor 2\n")


def main() -> None:
    maker, source = SessionMaker(), FakeSource()
    controls = DemoControls(source, maker)
    with own_terminal() as terminal:
        sink = os.open(os.environ.get("DEMO_SINK", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        kept = [os.dup(1), os.dup(2)]
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        app = ExplorerApp(LiveFeed(source), LiveRunActions(controls), terminal=terminal)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda number, frame: app.request_exit(signal.Signals(number).name))
        feeder = threading.Thread(target=feed, args=(source, maker), daemon=True)
        feeder.start()
        ending = app.explore()
        source.close()
        feeder.join()  # it writes to the descriptors 1 and 2, which are the terminal's again from here on
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
    print(ending, flush=True)


if __name__ == "__main__":
    main()
