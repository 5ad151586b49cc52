"""The browser's application: opens the stores, shows one screen, leaves the terminal clean."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Size

from loop_core.errors import LoopError, reason_of
from loop_tui import themes
from loop_tui.commands import check_keymap
from loop_tui.crash import CrashReport
from loop_tui.live import Live
from loop_tui.messages import ServiceFailed, ServiceOpened, SnapshotReady, WatchState
from loop_tui.places import own_places, short_path
from loop_tui.screens.browser import BrowserScreen
from loop_tui.settings import SettingsFile
from loop_tui.terminal import SizeWatch, terminal_gone

if TYPE_CHECKING:
    from textual.message import Message

    from loop_core.model import Snapshot
    from loop_tui.service import Options, Service

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Reader:
    """What the history viewer reads through: the service, once it is open."""

    def __init__(self, app: LoopTui) -> None:
        self._app = app

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app.service, name)


class LoopTui(App[None]):
    """One browser. `opener` opens the stores, in a thread, after the first paint."""

    TITLE = "loop-tui"
    CSS_PATH: ClassVar[list[str]] = [  # type: ignore[assignment]  # a list is meant
        "styles/browser.tcss",
        "styles/dialogs.tcss",
        "styles/history.tcss",
        "styles/search.tcss",
    ]
    ENABLE_COMMAND_PALETTE = False
    NOTIFICATION_TIMEOUT = 4.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Quit now", show=False, priority=True, id="quit")
    ]

    def __init__(
        self,
        opener: Callable[[], Service],
        settings: SettingsFile,
        *,
        ascii_only: bool = False,
        theme: str | None = None,
        read_only: bool = False,
        handle_signals: bool = False,
        watch: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings_file = settings
        self.ascii_only = ascii_only or settings.value.glyphs == "ascii"
        self.read_only = read_only
        self.clock = clock
        self.opener = opener
        self.service: Any = None
        self.reader: Any = Reader(self)
        self.live: Live | None = None
        self._watch = watch
        self._handle_signals = handle_signals
        self._wanted_theme = theme
        from os import environ

        super().__init__(ansi_color=True if "NO_COLOR" in environ else None)
        themes.register(self)
        themes.use_ascii(enabled=self.ascii_only)
        self.keymap, self.keymap_faults = check_keymap(settings.value.keymap)
        self.set_keymap(self.keymap)
        self.browser = BrowserScreen(self)

    def get_default_screen(self) -> BrowserScreen:
        return self.browser

    def on_mount(self) -> None:
        self.theme = self._choose_theme()
        if self._handle_signals:
            loop = asyncio.get_running_loop()
            for number in SIGNALS:
                loop.add_signal_handler(number, self._signalled, number)
            self._size_watch = SizeWatch()
            self.set_interval(1.0, self._look_at_terminal)
        self.call_after_refresh(self._after_first_paint)

    def _choose_theme(self) -> str:
        if self.no_color:
            return themes.NO_COLOR
        for name in (self._wanted_theme, self.settings_file.value.theme):
            if name in self.available_themes:
                return str(name)
        return themes.DEFAULT

    def _signalled(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def _look_at_terminal(self) -> None:
        if terminal_gone():
            self._signalled(signal.SIGHUP)
        elif missed := self._size_watch.missed(self.size):
            size = Size(*missed)
            self.post_message(events.Resize(size, size))

    def _after_first_paint(self) -> None:
        """Reading starts when there is something on the screen."""
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)
        faults = [self.settings_file.fault] if self.settings_file.fault else []
        if self._wanted_theme is not None and self._wanted_theme not in self.available_themes:
            faults.append(f"No theme is called {self._wanted_theme}")
        faults += [f"Keymap: {fault}" for fault in self.keymap_faults]
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            self.browser.toast(f"{faults[0]}{more}", "warning")
        self._open()

    # --- the stores

    @work(exclusive=True, group="open")
    async def _open(self) -> None:
        """Open and scan in a thread; rows come in steps, recovery after them."""
        try:
            self.service = await asyncio.to_thread(self.opener)
            self.post_message(ServiceOpened(self.service))
            snapshot = await asyncio.to_thread(self.service.scan, self._scan_step)
            if finished := await asyncio.to_thread(self.service.recover):
                self.browser.toast(f"After an interruption: {finished[0]}")
                snapshot = await asyncio.to_thread(self.service.scan)
        except LoopError as error:
            self.post_message(ServiceFailed(reason_of(error)))
            return
        self.browser.news.apply(snapshot)
        self.browser.news.finish_scan()
        self._start_watching()

    def _scan_step(self, snapshot: Snapshot) -> None:
        """Called from the scanning thread with growing snapshots."""
        self._from_thread(SnapshotReady(snapshot))

    def _from_thread(self, message: Message) -> None:
        """Post a message to the browser; what can be done of it here is not done there."""
        if isinstance(message, SnapshotReady):
            self.browser.browse.prepare(message.snapshot, now_ms=self.browser.now_ms)
        self.browser.post_message(message)

    @on(ServiceOpened)
    def _opened(self, event: ServiceOpened) -> None:
        self.read_only = self.read_only or bool(event.service.read_only)
        self.browser.board.show_all()

    @on(ServiceFailed)
    def _failed(self, event: ServiceFailed) -> None:
        self.browser.news.finish_scan()
        self.browser.toast(event.reason, "error")

    def _start_watching(self) -> None:
        if not self._watch:
            self.browser.post_message(WatchState("off"))
            return
        self.live = Live(self.service, self._from_thread)
        self.live.start()

    def place_names(self) -> tuple[str, ...]:
        """The stores as the header names them."""
        if self.service is None:
            return ()
        return tuple(dict.fromkeys(short_path(str(store.root)) for store in self.service.stores))

    # --- leaving

    def leave(self) -> None:
        self.exit()

    def action_leave(self) -> None:
        self.leave()

    def on_unmount(self) -> None:
        if self.live is not None:
            self.live.stop()


def run(options: Options, *, ascii_only: bool = False, theme: str | None = None) -> int:
    """Run the browser on the stores of `options`; the exit status: 0, 1 after a crash,
    128 + n after signal n.

    An unexpected error goes, whole, to a private file in the state directory; the terminal
    is told where.
    """

    def opener() -> Service:
        from loop_tui.service import Service

        return Service.open(options, recover=False)

    own = own_places(options.base)
    gc.disable()
    crash = CrashReport(own.state)
    app = LoopTui(
        opener,
        SettingsFile(own.settings),
        ascii_only=ascii_only,
        theme=theme,
        read_only=options.read_only,
        handle_signals=True,
    )
    app.error_console = crash.console
    try:
        app.run()
    except Exception:  # noqa: BLE001 - whatever it is, it must not reach the terminal
        crash.console.print_exception()
    finally:
        gc.enable()
        if app.service is not None:
            app.service.close()
    if crash.publish():
        return 1
    return app.return_code or 0
