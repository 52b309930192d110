"""The verdict line: a Conclusion as one sentence. `analysis/conclusion.py` decides on its clauses and their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

import msgspec

from ..analysis.conclusion import conclude, epochs_with_findings
from ..analysis.epoch_view import epochs, last_s, since_s
from ..model import conclusions
from ..model.catalogue import ENTRIES, name
from ..model.events import Mark
from ..model.figures import LevelFigures
from ..model.findings import Blame, Cause, Leak, RepliesChanged
from ..model.level_use import are_warm
from ..model.stacks import FunctionBlamed
from ..model.sweep import setting_name
from ..model.timeline import Timeline, params_of
from ..model.verdicts import EndpointDegradation, KneeVerdict, RateVerdict, Severity
from . import experiments, numbers, quantities, stacks
from .knee_sentences import capacity, changes, first_endpoint, knee, knee_alone
from .marks import at_load, figures_of_server, of_another_kind, title
from .numbers import during, session_time
from .quantities import rate
from .rate_sentences import rates

# -- Text about levels whose users had not all completed a cycle: how many levels, and which share of their users or requests.


def warm(figures: LevelFigures) -> str:
    """`40% of its users warm`; empty if enough were warm for the level to settle, or if that is unknown."""
    return "" if are_warm(figures) else f"{_share(figures.warm_ratio or 0.0)} of its users warm"


def levels_of(users: Sequence[int]) -> str:
    """`1 level (20 users)`, `2 levels (20 to 30 users)`; `users` has one entry for each level."""
    least, most = min(users), max(users)
    counts = numbers.counted(most) if least == most else f"{numbers.users(least)} to {numbers.counted(most)}"
    return f"{numbers.several(len(users), 'level')} ({counts})"


def shares(ratios: Sequence[float]) -> str:
    """`40%`, `10–40%`."""
    least, most = _share(min(ratios)), _share(max(ratios))
    return least if least == most else f"{least.removesuffix('%')}–{most}"


def _share(ratio: float) -> str:
    return f"{ratio:.0%}"


# -- Clauses of the verdict line: failures, limits, leaks and the capacity curve, each with its time and users.
#
# A clause is lower case without a full stop, or one or more whole sentences. `verdict` joins the clauses.

_TOLD = {
    conclusions.Told.NO_KNEE_YET: "no knee yet",
    conclusions.Told.USERS_TOO_NEW: "the capacity is unknown",
    conclusions.Told.HOLD_LEVELS: "hold each level until its users have completed one",
}
"""Texts of clauses without figures."""

WHOLE_SECOND_MOST_S = 2.0
"""A second counts if it began after settling: it begins up to a second later, and lasts one."""


@singledispatch
def clause(each: conclusions.Clause) -> str:
    """The text of one clause."""
    raise TypeError(f"no words for {type(each).__name__}")


@clause.register
def _(each: conclusions.RunInvalid) -> str:
    clean = [numbers.counted(each.clean_users)] if each.clean_users is not None else []
    clean += [rate(each.clean_per_s)] if each.clean_per_s is not None else []
    results = f"results above {' and '.join(clean)}" if clean else "the results"
    what = f"{ENTRIES[each.cause.id].limiter or name(each.cause.id)}{_blocked_at(each.cause)}"
    words = f"limited by {what} {_since(each.cause)}: {results} do not describe the service"
    return words if each.knee is None else f"{words}; up to there {knee_alone(each.knee)}"


@clause.register
def _(each: conclusions.CapacityFound) -> str:
    more = f", in {stacks.short_place(each.function.function)}" if each.function is not None else ""
    more += f"; stay at {quantities.at_most(each.operating.load)}" if each.operating is not None else ""
    if isinstance(each.found, RateVerdict):
        return rates(each.found, " and ".join(map(title, each.blamed)), more)
    named = [title(mark) + logged(mark) for mark in each.blamed]
    return capacity(each.found, " and ".join(named if each.confirmed is None else [experiments.limit([each.confirmed])]), more)


clause.register(KneeVerdict, knee)
clause.register(EndpointDegradation, first_endpoint)
clause.register(FunctionBlamed, stacks.blamed)


@clause.register
def _(each: conclusions.Explains) -> str:
    return experiments.explanation(each.found)


@clause.register
def _(each: conclusions.Told) -> str:
    return _TOLD[each]


@clause.register
def _(each: conclusions.CpuUsedByOthers) -> str:
    """`other processes (cc1plus, chrome) use 1.6 of 2 cores: results at 20 users do not describe the service`."""
    names = f" ({', '.join(each.names)})" if each.names else ""
    share = f"{each.others_cpu_ratio:.2g} of {numbers.several(each.cores, 'core')}" if each.cores else "CPU time"
    loads = _loads(each.left_out_users, each.left_out_per_s)
    left_out = f": results at {loads} do not describe the service" if loads else ""
    return f"other processes{names} use {share}{left_out}"


@clause.register
def _(each: conclusions.CpuStolen) -> str:
    """`the hypervisor took up to 23% of the CPU (steal) at 24 to 48 users: results there may be too low`."""
    loads = _loads(each.users, each.per_s)
    return f"the hypervisor took up to {each.share_ratio:.0%} of the CPU (steal) at {loads}: results there may be too low"


@clause.register
def _(each: conclusions.DiskUsedByOthers) -> str:
    """`other processes keep the service's disk busy (412 MiB/s) at 24 users: results there may be too low`."""
    used = quantities.byte_rate(each.others_bytes_per_s)
    loads = _loads(each.users, each.per_s)
    return f"other processes keep the service's disk busy ({used}) at {loads}: results there may be too low"


def _loads(users: Sequence[float], rates: Sequence[float]) -> str:
    """`4 and 8 users and 21/s to 60/s offered`."""
    loads = [f"{_between([numbers.users(one) for one in users])} user{'s' * (tuple(users) != (1.0,))}"] if users else []
    loads += [f"{_between([rate(one) for one in rates])} offered"] if rates else []
    return " and ".join(loads)


def _between(loads: Sequence[str]) -> str:
    """`4 and 8`, `4 to 16`."""
    return " and ".join(loads) if len(loads) < 3 else f"{loads[0]} to {loads[-1]}"


# -- failures


@clause.register
def _(each: conclusions.TargetDied) -> str:
    """`the target crashed at 03:05 and 82 users`."""
    return f"{title(each.mark)} at {session_time(since_s(each.mark))}{at_load(each.mark, ' and ')}{logged(each.mark)}"


@clause.register
def _(each: conclusions.RequestsFailed) -> str:
    """`client errors (HTTP 4xx), 4.6% of requests, from 03:05 to 03:20 at 5 users`; without an end while they go on."""
    part = f", {numbers.percent(each.share_ratio)} of requests," if each.share_ratio is not None else ""
    when = "at every load" if each.at_every_load else _during(each.mark)
    return f"{title(each.mark)}{part} {when}{logged(each.mark)}" + ": this is its capacity" * each.is_capacity


# -- limits


@clause.register
def _(each: conclusions.ServiceLimited) -> str:
    """`the disk is saturated at 82 users`."""
    is_known = each.users or each.offered_per_s is not None
    at = f" at {quantities.load(each.users, each.offered_per_s)}" if is_known else ""
    return " and ".join(map(title, each.marks)) + at


@clause.register
def _(each: conclusions.ThinkTimeLimit) -> str:
    return f"{title(each.mark)} up to {numbers.counted(each.mark.users)}"


def think_time_in_full(each: conclusions.ThinkTimeLimit) -> str:
    """`not saturated at 50 users (49.8/s): the users' think time (1.0 s) sets the throughput`."""
    goodput = f" ({rate(each.throughput_rps)})" if each.throughput_rps else ""
    think = f" ({each.wait_s:.{1 if each.wait_s >= 0.95 else 2}f} s)" if each.wait_s else ""
    why = f"the users' think time{think} sets the throughput"
    if isinstance(each.mark.finding, Blame) and (pacing_s := each.mark.finding.reading("pacing_s")) is not None:
        why = f"{title(each.mark)}, one task every {numbers.number(pacing_s)} s"
    return f"not saturated at {numbers.counted(each.mark.users)}{goodput}: {why}"


@clause.register
def _(each: conclusions.Leaking) -> str:
    """`the target leaks file descriptors: 7,200 per hour, 4 min to its limit`."""
    assert isinstance(each.mark.finding, Leak)
    return f"{title(each.mark)}: {', '.join(_growth(each.mark.finding))}"


def _growth(leak: Leak) -> Iterator[str]:
    per_hour = leak.growth_per_hour
    yield f"{numbers.number(round(per_hour)) if leak.unit == 'fds' else quantities.size(per_hour)} per hour"
    if leak.limit_in_s is not None:
        yield f"{numbers.span(leak.limit_in_s)} to its limit"


@clause.register
def _(each: conclusions.FiguresOfUserCode) -> str:
    """`users end by themselves: StopUser (shop.py:12 in checkout)`."""
    return " and ".join(map(title, each.marks))


@clause.register
def _(each: conclusions.MachineShared) -> str:
    at = quantities.load(each.mark.users, each.mark.offered_per_s)
    return f"from {at} on, the generator used {each.share_ratio:.0%} of the machine's busy CPU"


@clause.register
def _(each: conclusions.PartsNotRead) -> str:
    """`db cannot be read (Connection refused): nothing is known of it`."""
    names = [f"{name} cannot be read" + (f" ({why})" if why else "") for name, why in each.parts]
    return f"{' and '.join(names)}: nothing is known of {'it' if len(names) == 1 else 'them'}"


@clause.register
def _(each: conclusions.PartsShowLess) -> str:
    """`of db, a postgres, only the process is read: its connections and lock waits need `postgres = URL``."""
    words = [f"of {name} only the processes are read: {figures_of_server(program, kind)}" for name, program, kind in each.parts]
    return "; ".join(words)


@clause.register
def _(each: conclusions.ServiceChanged) -> str:
    return changes(each.regimes, each.named)


@clause.register
def _(each: conclusions.RepliesDiffer) -> str:
    assert isinstance(each.mark.finding, RepliesChanged)
    return of_another_kind(each.mark.finding, each.mark)


@clause.register
def _(each: conclusions.UsersPoll) -> str:
    """`a task has 59 requests at 150 users and 3 at 12, each as quick: users ask until a result is there, and get 23/s; ...`."""
    (fewest, most), (before, now) = each.users, each.requests_per_task
    asked = f"a task has {now:.0f} requests at {most} users and {before:.0f} at {fewest}, each as quick"
    return f"{asked}: users ask until a result is there, and get {rate(each.tasks_per_s)}; [work] counts results alone"


@clause.register
def _(each: conclusions.ShortStall) -> str:
    """`at 01:40 and 20 users no reply came for at least 2 s, which the level's figures contain`."""
    where = f"at {session_time(each.at_s)} and {quantities.load(each.load.users, each.load.per_s)}"
    longest = f"no reply came for at least {each.seconds} s, which the level's figures contain"
    return f"{where} {longest}" + (f"; it happened {each.times} times" if each.times > 1 else "")


# -- the curve


@clause.register
def _(each: conclusions.NotJudged) -> str:
    if each.best is None:
        return "no level settled: the capacity is unknown"
    best = each.best
    levels = f"{numbers.several(each.settled, 'level')} settled"
    p95_ms = best.figures.latency_ms.p95
    p95 = "" if p95_ms is None else f" (p95 {quantities.latency(p95_ms)})"
    measured = f"{levels}; the highest goodput was {rate(best.figures.goodput_rps)}"
    return f"{measured} at {numbers.counted(best.users)}{p95}. No detector has looked for a knee or a bottleneck"


@clause.register
def _(each: conclusions.UsersNotWarm) -> str:
    """`2 levels (20 to 30 users) did not settle: only 10–40% of the users had completed a task cycle`."""
    return f"{levels_of(each.users)} did not settle: only {shares(each.warm_ratios)} of the users had completed a task cycle"


@clause.register
def _(each: conclusions.LevelsTooShort) -> str:
    """`2 levels (4 to 8 users) ended after 5 s, before they could settle: two cycles of the users take 9 s, so hold ...`."""
    lasted, settling = numbers.span(each.longest_s), numbers.span(each.settling_s)
    if each.settling_s + WHOLE_SECOND_MOST_S < each.longest_s:
        return f"{levels_of(each.users)} did not settle: too few of the users ran at the same time"
    if each.settling_s < each.longest_s:
        ended = f"{levels_of(each.users)} ended after {lasted}, before a whole second had followed"
        return f"{ended} the {settling} in which users settle, so hold each level for longer"
    ended = f"{levels_of(each.users)} ended after {lasted}, before they could settle"
    return f"{ended}: two cycles of the users take {settling}, so hold each level for longer"


# -- when, where and why


def _blocked_at(mark: Mark) -> str:
    """`, at pay.py:12 in pay (timers are up to 52 ms late),`: a call of user code and what it does; empty for other causes."""
    readings = mark.finding.readings if isinstance(mark.finding, Cause) else {}
    place, late_ms = readings.get("blocked_at"), readings.get("loop_lag_p99_ms")
    if not isinstance(place, str):
        return ""
    late = f" (timers are up to {quantities.latency(float(late_ms))} late)" if isinstance(late_ms, int | float) else ""
    return f", at {place}{late},"


def logged(mark: Mark) -> str:
    """` (its log: TimeoutError: QueuePool limit of size 5 overflow 10 reached)`; empty if its log says nothing."""
    text = mark.finding.logged if isinstance(mark.finding, Cause) else ""
    return f" (its log: {text})" if text else ""


def _during(mark: Mark) -> str:
    """`from 03:05 to 03:20 at 82 users`; without an end while the cause goes on."""
    if mark.state != "closed":
        return _since(mark)
    return f"{during(since_s(mark), last_s(mark))}{at_load(mark)}"


def _since(mark: Mark) -> str:
    """`from 03:05 at 82 users`, in the session's time."""
    return f"from {session_time(since_s(mark))}{at_load(mark)}"


class Judgement(msgspec.Struct, frozen=True):
    """The verdict line and its severity."""

    sentence: str
    severity: Severity = "info"
    marked: bool = False
    """Whether the sentence names a cause, a bottleneck or a leak, and not only the capacity curve."""
    invalid: bool = False
    """Whether the generator, its host or the network failed, so that only levels without such failures describe the service."""
    epoch: int | None = None


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch, as `judgement`."""
    return judgement(timeline, epoch).sentence


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The verdict line with its severity; see `conclude` for its cost. By default that of the latest epoch that shows a limit or
    a fault: after a restart with other parameters the line of the epoch before stays until there is another.
    """
    chosen, found = _latest_of_note(timeline) if epoch is None else (epoch, conclude(timeline, epoch))
    named = "" if chosen is None else epoch_title(timeline, chosen)
    sentence = f"{named}: {_sentence(found)}" if named else _sentence(found)
    return Judgement(sentence, found.severity, found.marked, found.invalid, chosen)


def _latest_of_note(timeline: Timeline) -> tuple[int | None, conclusions.Conclusion]:
    """(epoch, its conclusion); of the latest one if none is of note, and without findings of all levels."""
    latest: tuple[int | None, conclusions.Conclusion] | None = None
    for epoch in reversed(epochs_with_findings(timeline)):
        found = epoch, conclude(timeline, epoch)
        latest = latest or found
        if found[1].is_of_note:
            return found
    return latest or (None, conclude(timeline, None))


def judgements(timeline: Timeline) -> dict[int, Judgement]:
    """One Judgement for each epoch with findings, ascending; a session without findings has one, for epoch 0."""
    return {epoch: judgement(timeline, epoch) for epoch in epochs_with_findings(timeline)} or {0: judgement(timeline)}


def epoch_name(timeline: Timeline, epoch: int) -> str:
    """The parameters of the target that are not the same in all epochs, `pool=5`, and since when if it had them before; of a log
    without parameters `epoch 1`. Empty if there is only one epoch. Foreign text.
    """
    found = epochs(timeline)
    if len(found) < 2:
        return ""
    params = [params_of(timeline, each) for each in found]
    own = params_of(timeline, epoch)
    name = setting_name({key: own[key] for key in own if any(each.get(key) != own[key] for each in params)})
    if not name or not all(params):
        return f"epoch {epoch}"
    level = next((each for each in timeline.levels if each.opened.epoch == epoch), None)
    return name if params.count(own) == 1 or level is None else f"{name} from {session_time(level.opened.t_s)}"


def epoch_title(timeline: Timeline, epoch: int) -> str:
    """The same to begin a sentence: `Epoch 1`."""
    found = epoch_name(timeline, epoch)
    return _upper_first(found) if found.startswith("epoch ") else found


def before_restart(timeline: Timeline, epoch: int | None) -> str:
    """`before the restart, ` for what a screen shows of an epoch that has ended, before the name of that; else empty."""
    return "before the restart, " if epoch is not None and epoch < max(epochs(timeline), default=0) else ""


def _sentence(found: conclusions.Conclusion) -> str:
    first, *others = found.clauses
    sentence, before = _upper_first(_words(first, None)).removesuffix("."), first
    for each in others:
        sentence += _separator(before, each) + _lower_first(_words(each, before)).removesuffix(".")
        before = each
    return f"{sentence}."


def _words(each: conclusions.Clause, before: conclusions.Clause | None) -> str:
    """The text of a clause; that of think time is longer at the begin, and where it follows processes that use the CPU."""
    is_told_in_full = before is None or isinstance(before, conclusions.CpuUsedByOthers)
    return think_time_in_full(each) if isinstance(each, conclusions.ThinkTimeLimit) and is_told_in_full else clause(each)


def _separator(before: conclusions.Clause, after: conclusions.Clause) -> str:
    """A colon where one clause explains the other; otherwise a semicolon."""
    no_level_left_out = isinstance(before, conclusions.CpuUsedByOthers) and not (before.left_out_users or before.left_out_per_s)
    reason = before is conclusions.Told.USERS_TOO_NEW or (
        isinstance(before, conclusions.ServiceLimited) and after is conclusions.Told.NO_KNEE_YET
    )
    return ": " if no_level_left_out or reason else "; "


def _lower_first(sentence: str) -> str:
    """A clause that ends with a full stop, with a lower-case first letter; others stay as they are."""
    return f"{sentence[:1].lower()}{sentence[1:]}" if sentence.endswith(".") else sentence


def _upper_first(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
