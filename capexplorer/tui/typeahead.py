"""Keys typed faster than screens open: `g50` and Enter in one packet over SSH must go to 50 users, not to pane 5.

Textual assigns every key to the widget that has the focus when it arrives, but acts on it later, so that a prompt which the
first key opens does not get the second. Here a key waits until the one before it was acted on, and until a screen that it
opened has its focus. There is no time limit for acting on a key: on a busy machine the next key would go to a prompt that is
about to close.
"""

from __future__ import annotations

from collections import deque
from typing import TypeVar

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

Result = TypeVar("Result")

LOOK_S = 0.01
"""Seconds between two checks whether the next key may be acted on."""

LOOKS_MOST = 100
"""Most checks whether a new screen has its focus; after that the key is acted on without."""


class TypeAhead(App[Result]):
    """An app that acts on keys one after the other."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._typed: deque[events.Key] = deque()
        self._acting = False
        self._key = ""
        """The key that is or was acted on last."""
        self._key_count = 0
        """Counts the keys that were acted on, and the ends of these actions."""
        self._followed: MessagePump = self
        """The widget, screen or app in whose message queue a callback waits behind the key."""

    @property
    def is_repeating(self) -> bool:
        """Whether the same key waits again, so that what it draws replaces at once what the present one would draw."""
        return bool(self._typed) and self._typed[0].key == self._key

    async def on_event(self, event: events.Event) -> None:
        """Queue keys; handle other events at once."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typed.append(event)
            if not self._acting:
                self._acting = True
                await self._act(LOOKS_MOST)
        else:
            await super().on_event(event)

    async def _act(self, looks_left: int) -> None:
        if not self._typed or self._has_ended:
            self._acting = False
        elif looks_left and self._is_opening:
            self.set_timer(LOOK_S, lambda: self._act(looks_left - 1))
        else:
            event = self._typed.popleft()
            self._key = event.key
            await super().on_event(event)
            self._key_count += 1
            node = self.focused or self.screen
            self._follow(node, self._key_count, again=node)
            self._watch(self._key_count)

    async def _acted(self, key_count: int) -> None:
        """Act on the next key, after the one with this count was acted on. Has no effect if that was done already."""
        if key_count == self._key_count:
            self._key_count += 1
            await self._act(LOOKS_MOST)

    def _follow(self, node: MessagePump, key_count: int, again: MessagePump | None = None) -> None:
        """Wait behind the key in every message queue that it bubbles through, up to the app's.

        `again`: then do so once more from this widget, since a message that it posted for the key (such as Input.Submitted)
        takes the same way after the key.
        """
        if key_count != self._key_count:
            return
        self._followed = node
        if node is not self and node._parent is not None:
            node.call_later(self._follow, node._parent, key_count, again)
        elif again is not None:
            self.call_later(self._follow, again, key_count)  # bindings are performed in the app's queue, behind which this waits
        else:
            self.call_later(self._acted, key_count)

    def _watch(self, key_count: int) -> None:
        """Continue in the queue of the screen below if the key closed its prompt, with the queue in which the callback waited."""
        if key_count != self._key_count or self._has_ended:
            return
        if self._followed._closing or self._followed._closed:
            self._follow(self.screen, key_count)
        self.set_timer(LOOK_S, lambda: self._watch(key_count))

    @property
    def _has_ended(self) -> bool:
        """Whether the screens are gone: the application exits while keys wait."""
        return not self.screen_stack

    @property
    def _is_opening(self) -> bool:
        """Whether the screen on top will have a focus, but has none yet."""
        screen = self.screen
        wants_focus = bool(self.AUTO_FOCUS if screen.AUTO_FOCUS is None else screen.AUTO_FOCUS)
        return not screen.is_mounted or (wants_focus and screen.focused is None and bool(screen.focus_chain))
